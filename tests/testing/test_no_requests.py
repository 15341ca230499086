from __future__ import annotations

import threading

import pytest

from agentsdk.models.network import refuse_real_request
from agentsdk.models.openai_chat import OpenAIChatCompletionsModel
from agentsdk.testing import FakeOpenAIServer, no_real_requests
from agentsdk.types.errors import UserError
from tests.models.wire import ask, model_at, request

REAL = "https://api.example.com/v1"


@pytest.mark.anyio
async def test_a_real_host_is_refused_before_connecting_and_loopback_is_not() -> None:
    with no_real_requests():
        with pytest.raises(UserError, match=r"'api\.example\.com'.*no_real_requests"):
            await ask(OpenAIChatCompletionsModel("m", base_url=REAL), request())
        async with FakeOpenAIServer(["ok"]) as server:
            assert (await ask(model_at(server), request())).text == "ok"


def test_the_lock_nests_and_ends() -> None:
    with no_real_requests():
        with no_real_requests():
            pass
        with pytest.raises(UserError):
            refuse_real_request(REAL)
    refuse_real_request(REAL)


def test_the_lock_holds_in_other_threads() -> None:
    caught: list[BaseException] = []

    def elsewhere() -> None:
        try:
            refuse_real_request(REAL)
        except UserError as error:
            caught.append(error)

    with no_real_requests():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert len(caught) == 1


@no_real_requests()
def test_it_is_a_decorator_too() -> None:
    with pytest.raises(UserError):
        refuse_real_request(REAL)
