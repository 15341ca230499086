"""A model that is chosen turn by turn: a callable is asked once a turn, and what it chose is asked for all of it."""

from __future__ import annotations

from typing import Any, cast

from agentsdk.define.agent import Agent, ModelSelector
from agentsdk.define.context import TurnContext
from agentsdk.engine.callbacks import call_user
from agentsdk.engine.run import ChosenModel, Run
from agentsdk.ports.model import MODEL as A_MODEL
from agentsdk.ports.model import Model
from agentsdk.types.declared import shown
from agentsdk.types.errors import UserError


async def choose_model(run: Run) -> Model:
    """The model of the run's turn, for a run or an agent whose `model` is a callable.

    A turn that was begun in another process goes on with the name that was chosen there. Raises `UserError` for an answer that
    is neither a model nor the name of one, `CallbackError` where the callable raises.
    """
    chosen, turn = run.chosen, run.state.turn
    if chosen is not None and chosen.turns == run.state.turns:
        return chosen.model
    given = (turn.chosen_model if turn is not None else "") or await _asked_for(run)
    model = run.deps.model(given)
    run.chosen = ChosenModel(model, run.state.turns, given if isinstance(given, str) else "")
    return model


async def _asked_for(run: Run) -> str | Model:
    of_run, agent = run.deps.config.model, run.agent
    what = f"model of agent {agent.name!r}" if of_run is None else "model of the RunConfig"
    return await call_selector(what, agent.model if of_run is None else of_run, run.turn_context(), agent)


async def call_selector(what: str, selector: object, context: TurnContext[Any], agent: Agent[Any, Any]) -> str | Model:
    """What a `ModelSelector` chooses; `what` names it in errors. Raises as `choose_model` does."""
    given: str | Model = await call_user(what, cast("ModelSelector[Any]", selector), context, agent)
    if not (A_MODEL.fits(given) or (isinstance(given, str) and given)):
        raise UserError(f"{what} chose {shown(given)}, expected {A_MODEL.text}, or the name of one; return one")
    return given
