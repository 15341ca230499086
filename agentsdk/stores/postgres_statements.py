"""The tables and statements of `PostgresRunStore`. Each call is one statement, so it is a transaction of its own.

`ready_at` is `due_at`, but 0 for a run in work, whose lease changes with every append: an index that has `ready_at` is changed
only when a run is left or taken.

Programs of earlier versions may work on the same tables. They know neither `due_at`, which is NULL in a run that one of them
wrote (it follows from the status then), nor the statuses that came with it: a trigger has their runs stand as they would today.
"""

from __future__ import annotations

from agentsdk.databases.postgres import Tables
from agentsdk.types.summary import RunSummary

_DUE_AT = "coalesce(due_at, CASE status WHEN 'running' THEN held_until WHEN 'ready' THEN updated_at ELSE 0 END)"
# "C" sorts by code point, as Python does. Room in the pages lets a summary be replaced without a change to any index. An
# entry of an index has a bound, an agent's name has none.
TABLES = Tables(
    name="run",
    version=1,
    statements=(
        """
        CREATE TABLE IF NOT EXISTS agentsdk_runs (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            run_id text COLLATE "C" NOT NULL UNIQUE,
            rev bigint NOT NULL,
            status text NOT NULL,
            agent text NOT NULL,
            started_at double precision NOT NULL,
            updated_at double precision NOT NULL,
            turns bigint NOT NULL,
            requests bigint NOT NULL,
            input_tokens bigint NOT NULL,
            output_tokens bigint NOT NULL,
            waiting bigint NOT NULL,
            reason text NOT NULL,
            forked_from text NOT NULL,
            owner text NOT NULL,
            held_until double precision NOT NULL
        ) WITH (fillfactor = 70)
        """,
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_by_start ON agentsdk_runs (started_at, run_id)",
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_by_status ON agentsdk_runs (status, started_at, run_id)",
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_by_agent ON agentsdk_runs (left(agent, 100), started_at, run_id)",
        """
        CREATE TABLE IF NOT EXISTS agentsdk_run_events (
            run bigint NOT NULL REFERENCES agentsdk_runs ON DELETE CASCADE,
            number bigint NOT NULL,
            event bytea NOT NULL,
            PRIMARY KEY (run, number)
        )
        """,
        """
        CREATE TABLE IF NOT EXISTS agentsdk_run_attachments (
            run bigint NOT NULL REFERENCES agentsdk_runs ON DELETE CASCADE,
            name text NOT NULL,
            data bytea NOT NULL,
            PRIMARY KEY (run, name)
        )
        """,
        """
        CREATE TABLE IF NOT EXISTS agentsdk_run_signals (
            run bigint NOT NULL REFERENCES agentsdk_runs ON DELETE CASCADE,
            number bigint NOT NULL,
            signal bytea NOT NULL,
            PRIMARY KEY (run, number)
        )
        """,
    ),
    columns=(
        ("agentsdk_runs", "first_agent", "text NOT NULL DEFAULT ''"),
        ("agentsdk_runs", "paid", "text NOT NULL DEFAULT ''"),
        ("agentsdk_runs", "phase", "text NOT NULL DEFAULT ''"),
        ("agentsdk_runs", "error", "text NOT NULL DEFAULT ''"),
        ("agentsdk_runs", "due_at", "double precision"),
        ("agentsdk_runs", "priority", "bigint NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "elapsed", "double precision NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "ended_at", "double precision NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "taken", "bigint NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "signals", "bigint NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "metadata", "jsonb NOT NULL DEFAULT '{}'"),
        ("agentsdk_runs", "ready_at", "double precision NOT NULL DEFAULT 0"),
    ),
    on_columns=(
        """
        CREATE OR REPLACE FUNCTION agentsdk_runs_of_earlier_version() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF (NEW.status = 'waiting' AND NEW.signals > NEW.taken)
                OR (NEW.status = 'stopped' AND (NEW.signals > NEW.taken OR NEW.reason IN ('', 'CancelledError')))
            THEN
                NEW.status := 'ready';
            ELSIF NEW.status = 'stopped' THEN
                NEW.status := 'failed';
            END IF;
            NEW.ready_at := CASE NEW.status WHEN 'ready' THEN NEW.updated_at ELSE 0 END;
            RETURN NEW;
        END $$
        """,
        "DROP TRIGGER IF EXISTS agentsdk_runs_of_earlier_version ON agentsdk_runs",
        """
        CREATE TRIGGER agentsdk_runs_of_earlier_version BEFORE INSERT OR UPDATE ON agentsdk_runs FOR EACH ROW
        WHEN (NEW.due_at IS NULL) EXECUTE FUNCTION agentsdk_runs_of_earlier_version()
        """,
        "UPDATE agentsdk_runs SET status = status WHERE status = 'stopped'",
        """
        CREATE INDEX IF NOT EXISTS agentsdk_runs_due ON agentsdk_runs (priority DESC, ready_at, run_id)
        WHERE ready_at > 0
        """,
        """
        CREATE INDEX IF NOT EXISTS agentsdk_runs_due_by_agent ON agentsdk_runs
            (left(first_agent, 100), priority DESC, ready_at, run_id)
        WHERE ready_at > 0
        """,
        """
        CREATE INDEX IF NOT EXISTS agentsdk_runs_by_metadata ON agentsdk_runs USING gin (metadata jsonb_path_ops)
        WHERE metadata <> '{}'
        """,
    ),
)

FIELDS = tuple(field for field in RunSummary.__struct_fields__ if field != "signals")
"""The values of `BEGIN` and `GO_ON`, before the revision that is expected and the events. That at `METADATA` is JSON."""
METADATA = FIELDS.index("metadata")

_OF = {field: f"${number}" for number, field in enumerate(FIELDS, 1)}
_EXPECTED = f"${len(FIELDS) + 1}"
_EVENTS = f"${len(FIELDS) + 2}"
_COLUMNS = ", ".join((*FIELDS, "ready_at"))
_READY_AT = f"CASE WHEN {_OF['status']}::text = 'running' THEN 0 ELSE {_OF['due_at']}::double precision END"
_VALUES = ", ".join((*_OF.values(), _READY_AT))

# `RunSummary.beside`. Who updates a run waits for the one before, and then looks again: how many signals there are, and whether
# the run is where it should be.
_IS_READY = f"agentsdk_runs.signals > {_OF['taken']} AND {_OF['status']}::text IN ('waiting', 'failed')"
_BESIDE = {
    "status": f"CASE WHEN {_IS_READY} THEN 'ready' ELSE {_OF['status']}::text END",
    "due_at": f"CASE WHEN {_IS_READY} THEN {_OF['updated_at']} ELSE {_OF['due_at']} END",
    "ready_at": f"CASE WHEN {_IS_READY} THEN {_OF['updated_at']} ELSE {_READY_AT} END",
}
_STANDING = ", ".join((_OF | _BESIDE).values())
_IF_EXPECTED = f"""
    agentsdk_runs.rev = {_EXPECTED}
    AND (agentsdk_runs.owner = {_OF["owner"]} OR agentsdk_runs.held_until <= {_OF["updated_at"]})
"""
_ADD_EVENTS = f"""
    , added AS (
        INSERT INTO agentsdk_run_events (run, number, event)
        SELECT head.id, {_EXPECTED} + place - 1, event
        FROM head, unnest({_EVENTS}::bytea[]) WITH ORDINALITY AS new (event, place)
    )
    SELECT signals, status FROM head
"""
BEGIN = f"""
    WITH head AS (
        INSERT INTO agentsdk_runs ({_COLUMNS}) VALUES ({_VALUES})
        ON CONFLICT (run_id) DO UPDATE SET ({_COLUMNS}) = ({_STANDING}) WHERE {_IF_EXPECTED}
        RETURNING id, signals, status
    )
    {_ADD_EVENTS}
"""
GO_ON = f"""
    WITH head AS (
        UPDATE agentsdk_runs SET ({_COLUMNS}) = ({_STANDING}) WHERE run_id = {_OF["run_id"]} AND {_IF_EXPECTED}
        RETURNING id, signals, status
    )
    {_ADD_EVENTS}
"""
_BECOMES_READY = "signals >= taken AND status IN ('waiting', 'failed')"
POST = f"""
    WITH head AS (
        UPDATE agentsdk_runs SET
            signals = signals + 1,
            status = CASE WHEN {_BECOMES_READY} THEN 'ready' ELSE status END,
            due_at = CASE WHEN {_BECOMES_READY} AND due_at IS NOT NULL THEN updated_at ELSE due_at END,
            ready_at = CASE WHEN {_BECOMES_READY} THEN updated_at ELSE ready_at END
        WHERE run_id = $1 AND status NOT IN ('finished', 'cancelled')
        RETURNING id, signals, status
    ), added AS (
        INSERT INTO agentsdk_run_signals (run, number, signal) SELECT id, signals, $2 FROM head
    )
    SELECT signals, status FROM head
"""
READ = """
    SELECT event FROM agentsdk_runs LEFT JOIN agentsdk_run_events ON run = id AND number >= $2
    WHERE run_id = $1 ORDER BY number
"""
READ_SIGNALS = """
    SELECT signal FROM agentsdk_runs LEFT JOIN agentsdk_run_signals ON run = id AND number > $2
    WHERE run_id = $1 ORDER BY number
"""

_READ_AS = {"due_at": f"{_DUE_AT} AS due_at"}
SUMMARIES = f"SELECT {', '.join(_READ_AS.get(field, field) for field in FIELDS)}, signals FROM agentsdk_runs"
SUMMARY = f"{SUMMARIES} WHERE run_id = $1"


_LEASE = "coalesce(due_at, held_until)"


def _due(conditions: str = "", locking: str = "") -> str:
    """The first of those that wait for a worker, and of those in work whose lease has passed."""
    return f"""
    SELECT * FROM (
        {SUMMARIES} WHERE ready_at > 0 AND ready_at <= $1 {conditions}
        ORDER BY priority DESC, ready_at, run_id LIMIT $2 {locking}
    ) AS waiting UNION ALL SELECT * FROM (
        {SUMMARIES} WHERE status = 'running' AND {_LEASE} > 0 AND {_LEASE} <= $1 {conditions}
        ORDER BY priority DESC, {_LEASE}, run_id LIMIT $2 {locking}
    ) AS left_behind
    """


_OF_AGENT = "AND left(first_agent, 100) = left(agent_of, 100) AND first_agent = agent_of"
_IN_ORDER = "ORDER BY priority DESC, due_at, run_id LIMIT $2"
DUE = f"SELECT * FROM ({_due()}) AS found {_IN_ORDER}"
DUE_OF_AGENTS = f"""
    SELECT found.* FROM unnest($3::text[]) AS one (agent_of),
    LATERAL ({_due(_OF_AGENT)}) AS found {_IN_ORDER}
"""

# A row that another one is claiming is passed over. Of what was found and locked, no more than is asked for is changed.
_TO_CLAIM = "AND held_until <= $1 AND run_id <> ALL ($5::text[])"
_CLAIMING = """
    UPDATE agentsdk_runs
    SET status = 'running', owner = $3, updated_at = $1, held_until = $4, due_at = $4, ready_at = 0
    FROM first WHERE agentsdk_runs.run_id = first.run_id
    RETURNING first.*
"""


def _claim(found: str) -> str:
    """Claim the first of what was found; each as it stood before."""
    return f"""
    WITH found AS MATERIALIZED ({found}), first AS (SELECT * FROM found {_IN_ORDER}), claimed AS ({_CLAIMING})
    SELECT * FROM claimed {_IN_ORDER}
    """


CLAIM = _claim(_due(_TO_CLAIM, "FOR UPDATE SKIP LOCKED"))
CLAIM_OF_AGENTS = _claim(
    f"""
    SELECT of_one.* FROM unnest($6::text[]) AS one (agent_of),
    LATERAL ({_due(f"{_TO_CLAIM} {_OF_AGENT}", "FOR UPDATE SKIP LOCKED")}) AS of_one
    """
)

_OF_AGENTS = "AND ($3::text[] IS NULL OR first_agent = ANY ($3::text[]))"
QUEUE = f"""
    WITH due AS (
        SELECT ready_at AS since FROM agentsdk_runs WHERE ready_at > 0 AND ready_at <= $1 {_OF_AGENTS} LIMIT $2
    ), left_behind AS (
        SELECT {_LEASE} AS since FROM agentsdk_runs
        WHERE status = 'running' AND {_LEASE} > 0 AND {_LEASE} <= $1 {_OF_AGENTS} LIMIT $2
    ), found AS (
        (SELECT since FROM due UNION ALL SELECT since FROM left_behind) LIMIT $2
    ), held AS (
        SELECT FROM agentsdk_runs WHERE status = 'running' AND {_LEASE} > $1 {_OF_AGENTS} LIMIT $2
    )
    SELECT count(*) AS due, min(since) AS since, (SELECT count(*) FROM held) AS in_work FROM found
"""

ATTACH = """
    INSERT INTO agentsdk_run_attachments (run, name, data) SELECT id, $2, $3 FROM agentsdk_runs WHERE run_id = $1
    ON CONFLICT (run, name) DO UPDATE SET data = EXCLUDED.data
    RETURNING run
"""
ATTACHMENT = "SELECT data FROM agentsdk_run_attachments JOIN agentsdk_runs ON run = id WHERE run_id = $1 AND name = $2"
DELETE = "DELETE FROM agentsdk_runs WHERE run_id = $1"
PRUNE = """
    WITH gone AS (DELETE FROM agentsdk_runs WHERE updated_at < $1 AND status = ANY ($2::text[]) RETURNING id)
    SELECT count(*) FROM gone
"""
REV = "SELECT rev FROM agentsdk_runs WHERE run_id = $1"
POSTED = "SELECT signals FROM agentsdk_runs WHERE run_id = $1"
