"""How long a provider's headers ask to wait, and that a model which heeds them does."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentsdk.models.rate_headers import rate_limit_wait, seconds_until_reset
from agentsdk.testing import FakeOpenAIServer, ServerReply
from agentsdk.types.errors import RateLimitError
from agentsdk.types.settings import ModelRetrySettings, ModelSettings
from tests.models.wire import FakeClock, ask, model_at, request

NOW = 1_700_000_000.0
ISO = datetime.fromtimestamp(NOW + 90, UTC).isoformat().replace("+00:00", "Z")
SPENT = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1s", 1.0),
        ("20ms", 0.02),
        ("6m0s", 360.0),
        ("1h2m3.5s", 3723.5),
        ("12", 12.0),
        (str(int(NOW) + 30), 30.0),
        (str(int(NOW * 1000) + 30_000), 30.0),
        (str(int(NOW) - 30), 0.0),
        (ISO, 90.0),
        ("2033-11-14T22:13:20", 0.0),
        ("", 0.0),
        ("soon", 0.0),
        ("nan", 0.0),
        ("inf", 0.0),
        ("9" * 400, 0.0),
    ],
)
def test_every_form_of_a_reset(value: str, seconds: float) -> None:
    assert seconds_until_reset(value, NOW) == pytest.approx(seconds)


def test_only_a_limit_of_which_nothing_remains_counts() -> None:
    anthropic = {"anthropic-ratelimit-input-tokens-remaining": "0", "anthropic-ratelimit-input-tokens-reset": ISO}
    assert rate_limit_wait(SPENT, NOW) == 360.0
    assert rate_limit_wait({**SPENT, "x-ratelimit-remaining-tokens": "1"}, NOW) == 0.0
    assert rate_limit_wait({**SPENT, **anthropic}, NOW) == 360.0
    assert rate_limit_wait(anthropic, NOW) == pytest.approx(90.0)
    assert rate_limit_wait({"retry-after": "7"}, NOW) == 7.0
    assert rate_limit_wait({"x-ratelimit-remaining": "0"}, NOW) == 0.0


@pytest.mark.anyio
@pytest.mark.parametrize(("cap", "waited"), [(400.0, 360.0), (60.0, 60.0)])
async def test_the_next_request_waits_until_the_reset(cap: float, waited: float) -> None:
    clock = FakeClock()
    heeding = ModelRetrySettings(respect_rate_limits=True, max_retry_after=cap)
    async with FakeOpenAIServer([ServerReply("a", headers=SPENT), "b", "c"]) as server:
        model = model_at(server, clock=clock, retry=heeding)
        await ask(model, request())
        assert clock.slept == []
        assert (await ask(model, request(stream=True))).text == "b"
        assert clock.slept == [pytest.approx(waited)]
        clock.now += 400
        await ask(model, request())
    assert len(clock.slept) == 1


@pytest.mark.anyio
async def test_another_request_waits_after_a_refusal() -> None:
    clock = FakeClock()
    refusal = ServerReply(status=429, headers={"retry-after": "5"}, body={"error": {"message": "slow down"}})
    settings = ModelSettings(retry=ModelRetrySettings(max_retries=0, respect_rate_limits=True))
    async with FakeOpenAIServer([refusal, "b"]) as server:
        model = model_at(server, clock=clock)
        with pytest.raises(RateLimitError):
            await ask(model, request(settings=settings))
        await ask(model, request(settings=settings))
    assert clock.slept == [pytest.approx(5.0)]


@pytest.mark.anyio
async def test_nothing_waits_unless_it_is_asked_to() -> None:
    clock = FakeClock()
    async with FakeOpenAIServer([ServerReply("a", headers=SPENT), "b"]) as server:
        model = model_at(server, clock=clock)
        await ask(model, request())
        await ask(model, request())
    assert clock.slept == []
