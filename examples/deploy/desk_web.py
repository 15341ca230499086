"""The API of the service: `uvicorn desk_web:app`. It drives no run: the workers do, and PostgreSQL is all they share."""

import hmac
import os

from desk_agents import agents
from starlette.requests import Request

from agentsdk import PostgresRunStore
from agentsdk.web import Caller, web_app

TOKEN = os.environ["WEB_TOKEN"]


def caller(request: Request) -> Caller | None:
    """Who makes a request. Yours: sessions, or OAuth."""
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    return Caller("desk", "ann") if hmac.compare_digest(given.encode(), TOKEN.encode()) else None


app = web_app(PostgresRunStore(os.environ["STORE_URL"]), agents=agents, authenticate=caller)
