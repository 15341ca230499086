"""The tables of `SQLiteRunStore`, and what makes rows of earlier versions ones of this.

Programs of an earlier version may go on writing into the same file, as they do while a service is deployed. They know neither
`due_at` nor the mailbox, and call a run that nobody works on `stopped`. Triggers put their rows right in the same transaction,
so that no reader and no index has to know of them.
"""

from __future__ import annotations

from agentsdk.databases.sqlite import Tables
from agentsdk.types.errors import StoreBusyError, StoreError

_BY_OTHERS = "(status IN ('stopped', 'waiting', 'failed') AND signals > taken)"
_IS_READY = f"(status = 'stopped' AND reason IN ('', 'CancelledError')) OR {_BY_OTHERS}"
_MEND = f"""UPDATE agentsdk_runs SET
    status = CASE WHEN {_IS_READY} THEN 'ready' WHEN status = 'stopped' THEN 'failed' ELSE status END,
    due_at = CASE WHEN {_IS_READY} THEN updated_at WHEN status = 'running' THEN held_until ELSE 0 END
    WHERE """
_NOTIFY_READY = "UPDATE agentsdk_runs_ready SET number = number + 1"

TABLES = Tables(
    kind="run",
    version=1,
    create=(
        """CREATE TABLE IF NOT EXISTS agentsdk_runs (
            key INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, rev INTEGER NOT NULL,
            status TEXT NOT NULL, agent TEXT NOT NULL, started_at REAL NOT NULL, updated_at REAL NOT NULL,
            turns INTEGER NOT NULL, requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
            waiting INTEGER NOT NULL, reason TEXT NOT NULL, forked_from TEXT NOT NULL,
            owner TEXT NOT NULL, held_until REAL NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_started ON agentsdk_runs (started_at, run_id)",
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_status ON agentsdk_runs (status, started_at, run_id)",
        "CREATE INDEX IF NOT EXISTS agentsdk_runs_agent ON agentsdk_runs (agent, started_at, run_id)",
        """CREATE TABLE IF NOT EXISTS agentsdk_run_events (
            run INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, number))""",
        """CREATE TABLE IF NOT EXISTS agentsdk_run_attachments (
            run INTEGER NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, name))""",
        """CREATE TRIGGER IF NOT EXISTS agentsdk_runs_deleted AFTER DELETE ON agentsdk_runs BEGIN
            DELETE FROM agentsdk_run_events WHERE run = OLD.key;
            DELETE FROM agentsdk_run_attachments WHERE run = OLD.key;
        END""",
        """CREATE TABLE IF NOT EXISTS agentsdk_run_signals (
            run INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, number))""",
        """CREATE TABLE IF NOT EXISTS agentsdk_run_metadata (
            name TEXT NOT NULL, value TEXT NOT NULL, started_at REAL NOT NULL, run_id TEXT NOT NULL,
            PRIMARY KEY (name, value, started_at, run_id)) WITHOUT ROWID""",
        # One row, whose number is another one after each change that leaves a run ready.
        "CREATE TABLE IF NOT EXISTS agentsdk_runs_ready (key INTEGER PRIMARY KEY, number INTEGER NOT NULL)",
        "INSERT OR IGNORE INTO agentsdk_runs_ready VALUES (1, 0)",
    ),
    error=StoreError,
    busy=StoreBusyError,
    columns=(
        ("agentsdk_runs", "first_agent", "TEXT NOT NULL DEFAULT ''"),
        ("agentsdk_runs", "paid", "TEXT NOT NULL DEFAULT ''"),
        ("agentsdk_runs", "phase", "TEXT NOT NULL DEFAULT ''"),
        ("agentsdk_runs", "error", "TEXT NOT NULL DEFAULT ''"),
        ("agentsdk_runs", "due_at", "REAL NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "priority", "INTEGER NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "elapsed", "REAL NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "ended_at", "REAL NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "taken", "INTEGER NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "signals", "INTEGER NOT NULL DEFAULT 0"),
        ("agentsdk_runs", "metadata", "TEXT NOT NULL DEFAULT '{}'"),
    ),
    upgrade=(
        # Not of the runs in work: each append renews a lease, and would write the index too.
        """CREATE INDEX IF NOT EXISTS agentsdk_runs_due ON agentsdk_runs (priority DESC, due_at, run_id, first_agent)
            WHERE due_at > 0 AND status <> 'running'""",
        """CREATE TRIGGER IF NOT EXISTS agentsdk_runs_deleted_too AFTER DELETE ON agentsdk_runs BEGIN
            DELETE FROM agentsdk_run_signals WHERE run = OLD.key;
            DELETE FROM agentsdk_run_metadata WHERE (name, value, started_at, run_id) IN (
                SELECT key, value, OLD.started_at, OLD.run_id FROM json_each(OLD.metadata));
        END""",
        """CREATE TRIGGER IF NOT EXISTS agentsdk_runs_described AFTER INSERT ON agentsdk_runs WHEN NEW.metadata <> '{}' BEGIN
            INSERT INTO agentsdk_run_metadata SELECT key, value, NEW.started_at, NEW.run_id FROM json_each(NEW.metadata);
        END""",
        """CREATE TRIGGER IF NOT EXISTS agentsdk_runs_described_anew AFTER UPDATE OF metadata, started_at ON agentsdk_runs BEGIN
            DELETE FROM agentsdk_run_metadata WHERE (name, value, started_at, run_id) IN (
                SELECT key, value, OLD.started_at, OLD.run_id FROM json_each(OLD.metadata));
            INSERT INTO agentsdk_run_metadata SELECT key, value, NEW.started_at, NEW.run_id FROM json_each(NEW.metadata);
        END""",
        f"""CREATE TRIGGER IF NOT EXISTS agentsdk_runs_begun_earlier AFTER INSERT ON agentsdk_runs
            WHEN NEW.status = 'stopped' OR (NEW.status = 'running' AND NEW.due_at <> NEW.held_until) BEGIN
            {_MEND} key = NEW.key;
            {_NOTIFY_READY};
        END""",
        f"""CREATE TRIGGER IF NOT EXISTS agentsdk_runs_left_earlier AFTER UPDATE OF status, held_until ON agentsdk_runs
            WHEN NEW.status = 'stopped'
                OR (NEW.status = 'running' AND NEW.due_at <> NEW.held_until)
                OR (NEW.status IN ('waiting', 'failed') AND NEW.signals > NEW.taken)
                OR (OLD.status = 'running' AND NEW.status NOT IN ('running', 'ready')
                    AND NEW.due_at > 0 AND NEW.due_at = OLD.due_at) BEGIN
            {_MEND} key = NEW.key;
            {_NOTIFY_READY};
        END""",
        f"{_MEND} status = 'stopped'",
        f"{_MEND} status = 'running' AND due_at <> held_until",
    ),
)
