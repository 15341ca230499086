"""The commands that need the extra `cli`, by typer. A command's module is imported when it is called: `--help` needs none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from agentsdk.cli.codes import OK, WRONG
from agentsdk.cli.without_extra import WITHOUT_EXTRA, run_without_extra

app = typer.Typer(
    name="agentsdk",
    help="Run agents in a terminal, and operate their runs.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AgentName = Annotated[str, typer.Argument(metavar="MODULE:AGENT", help="where the agent is, such as app.agents:clerk")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="the run's id")]
Store = Annotated[str, typer.Option("--store", envvar="AGENTSDK_STORE", help="where the runs are: runs.db, file:runs, a URL")]
NoStore = Annotated[str, typer.Option("--store", envvar="AGENTSDK_STORE", help="keep the run there: runs.db, file:runs, a URL")]
Config = Annotated[str, typer.Option("--config", metavar="MODULE:NAME", help="a RunConfig")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Model = Annotated[str, typer.Option("--model", help="the model in place of the agents' own")]


@app.command()
def chat(
    agent: AgentName,
    session: Annotated[str, typer.Option(help="the id of a conversation to go on with, kept in --sessions")] = "",
    sessions: Annotated[str, typer.Option(help="the SQLite file of conversations")] = "sessions.db",
    store: NoStore = "",
    config: Config = "",
    model: Model = "",
    max_turns: Annotated[int, typer.Option(help="turns of one answer, at most")] = 0,
) -> None:
    """Talk to an agent: its words as they come, approvals asked here. Ctrl-C stops the answer, Ctrl-D ends."""
    from agentsdk.cli.chat import chat

    raise typer.Exit(chat(agent, session, sessions, store, config, model, max_turns))


@app.command()
def run(
    agent: AgentName,
    text: Annotated[str, typer.Argument(metavar="INPUT", help="what it is asked; - reads it from stdin")],
    store: NoStore = "",
    run_id: Annotated[str, typer.Option(help="the run's id in the store")] = "",
    config: Config = "",
    model: Model = "",
    max_turns: Annotated[int, typer.Option(help="turns, at most")] = 0,
    json: Json = False,
) -> None:
    """Run an agent once and print its answer. Exit code 3 where it waits for somebody."""
    from agentsdk.cli.run import run_once

    raise typer.Exit(run_once(agent, text, store, run_id, config, model, max_turns, json))


@app.command()
def runs(
    store: Store = "runs.db",
    status: Annotated[str, typer.Option(help="running, waiting, ready, finished, failed or cancelled")] = "",
    agent: Annotated[str, typer.Option(help="the agent's name")] = "",
    meta: Annotated[list[str] | None, typer.Option(help="NAME=VALUE of the metadata; more than once")] = None,
    limit: Annotated[int, typer.Option(help="how many, the latest")] = 20,
    after: Annotated[str, typer.Option(help="the `after` of the page before")] = "",
    json: Json = False,
) -> None:
    """List the runs of a store, the latest first."""
    from agentsdk.cli.runs import list_runs

    raise typer.Exit(list_runs(store, status, agent, meta or [], limit, after, json))


@app.command()
def show(
    run: RunId, store: Store = "runs.db", full: Annotated[bool, typer.Option(help="cut no text")] = False, json: Json = False
) -> None:
    """Show a run as a tree: turns, replies, calls and their results, nested runs, times, tokens."""
    from agentsdk.cli.show import show_run

    raise typer.Exit(show_run(run, store, full, json))


@app.command()
def decide(
    run: RunId,
    action: Annotated[str, typer.Argument(help="approve, reject, answer, provide_result, retry or mark_failed")],
    call: Annotated[str, typer.Option(help="the call's id; may be left out where one waits")] = "",
    reason: Annotated[str, typer.Option(help="why, for reject and mark_failed")] = "",
    arguments: Annotated[str, typer.Option(help="JSON to run the call with in place of the model's, for approve")] = "",
    answer: Annotated[str, typer.Option(help="the answer: JSON, or a text")] = "",
    result: Annotated[str, typer.Option(help="what came of the call, for provide_result")] = "",
    always: Annotated[bool, typer.Option(help="from now on too")] = False,
    by: Annotated[str, typer.Option(envvar="USER", help="who decides")] = "",
    store: Store = "runs.db",
    json: Json = False,
) -> None:
    """Decide on a call that waits. Whoever drives the run, a worker say, goes on with it."""
    from agentsdk.cli.decide import decide_on

    raise typer.Exit(decide_on(run, action, call, reason, arguments, answer, result, always, by, store, json))


@app.command()
def resume(
    agent: AgentName,
    run: RunId,
    store: Store = "runs.db",
    config: Config = "",
    model: Model = "",
    take_over: Annotated[bool, typer.Option(help="also from a process that holds it: it must be dead")] = False,
    json: Json = False,
) -> None:
    """Go on with a run here, until it ends or waits."""
    from agentsdk.cli.run import resume_run

    raise typer.Exit(resume_run(agent, run, store, config, model, take_over, json))


@app.command()
def replay(
    agent: AgentName,
    run: RunId,
    instructions: Annotated[str, typer.Option(help="other instructions of the agent")] = "",
    model: Model = "",
    change: Annotated[str, typer.Option(metavar="MODULE:AGENT", help="another agent in its place")] = "",
    at: Annotated[int, typer.Option(help="run again from this revision")] = 0,
    live_effects: Annotated[bool, typer.Option(help="run calls that the record knows nothing of, whatever they do")] = False,
    keep: Annotated[str, typer.Option(metavar="RUN", help="keep the new run in the store under this id")] = "",
    store: Store = "runs.db",
    config: Config = "",
    json: Json = False,
) -> None:
    """Replay a run: does it come out the same? With a change: what would it have done, at what cost? Exit code 4: not so."""
    from agentsdk.cli.replay import replay_run

    raise typer.Exit(replay_run(agent, run, instructions, model, change, at, live_effects, keep, store, config, json))


@app.command()
def diff(
    run: RunId,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="another run's id")],
    store: Store = "runs.db",
    json: Json = False,
) -> None:
    """Say where two runs part, and what the second took more. Exit code 4 where they do."""
    from agentsdk.cli.replay import diff_runs

    raise typer.Exit(diff_runs(run, other, store, json))


@app.command()
def fork(
    run: RunId,
    at: Annotated[int, typer.Option(help="the revision to fork it at; the latest if left out")] = 0,
    new: Annotated[str, typer.Option(metavar="RUN", help="the new run's id")] = "",
    store: Store = "runs.db",
    json: Json = False,
) -> None:
    """Begin a run that goes on from where another was; a worker, or resume, takes it."""
    from agentsdk.cli.replay import fork_run

    raise typer.Exit(fork_run(run, at, new, store, json))


@app.command()
def models(
    name: Annotated[str, typer.Argument(help="part of a name; all providers if left out")] = "", json: Json = False
) -> None:
    """Say which names of models there are, their windows and prices, and which providers have a key here."""
    from agentsdk.cli.models import list_models

    raise typer.Exit(list_models(name, json))


@app.command()
def doctor(
    store: Annotated[str, typer.Option(help="look at this store too")] = "",
    agent: Annotated[str, typer.Option(metavar="MODULE:AGENT", help="look at this agent too, its tools and its model")] = "",
    reach: Annotated[bool, typer.Option("--reach", help="ask the providers whose key is set for their models")] = False,
    from_openai_agents: Annotated[
        str, typer.Option(metavar="PATH", help="what a code base uses of openai-agents, and what becomes of each name")
    ] = "",
    json: Json = False,
) -> None:
    """Say what is installed and what works here: extras, keys, servers, sandboxes."""
    if from_openai_agents:
        from agentsdk.cli.moving import examine_code

        raise typer.Exit(examine_code(from_openai_agents, json))
    from agentsdk.cli.doctor import examine

    raise typer.Exit(examine(store, agent, reach, json))


def _pass_on(name: str) -> None:
    """A command that needs no extra: its options are its own."""

    def command(context: typer.Context) -> None:
        raise typer.Exit(run_without_extra(name, context.args))

    settings: dict[str, object] = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    app.command(name, help=WITHOUT_EXTRA[name], context_settings=settings)(command)


for _name in WITHOUT_EXTRA:
    _pass_on(_name)


def run_app(arguments: Sequence[str]) -> int:
    """Run a command; the exit code. Raises `AgentsException`s."""
    try:
        app(list(arguments), prog_name="agentsdk")
    except SystemExit as exit:
        return exit.code if isinstance(exit.code, int) else WRONG
    return OK
