"""`Inbox`: what arrives during a run, in order of priority and time."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from agentsdk import FunctionCall, Inbox, Message, UserError


def texts(inbox: Inbox) -> list[object]:
    return [message.content for message in inbox.due()]


def test_messages_come_by_priority_and_then_as_they_were_put() -> None:
    inbox = Inbox()
    inbox.put("first")
    inbox.put("second")
    inbox.put(Message("developer", "urgent"), priority=2)
    inbox.put("whenever", priority=-1)
    assert texts(inbox) == ["urgent", "first", "second", "whenever"]
    assert inbox.due()[0].role == "developer"


def test_a_message_stays_until_it_is_taken() -> None:
    inbox = Inbox()
    inbox.put("same")
    inbox.put("same")
    first, second = inbox.due()
    inbox.taken((first,))
    assert inbox.due() == (second,) and len(inbox) == 1
    inbox.taken((second,))
    assert inbox.due() == () and len(inbox) == 0


def test_a_timer_is_due_when_its_time_has_come() -> None:
    now = [10.0]
    inbox = Inbox(clock=lambda: now[0])
    inbox.put("in five", delay=5)
    inbox.put("in two", delay=2, priority=1)
    assert inbox.due() == () and "2 waiting" in repr(inbox)
    now[0] = 12.0
    assert texts(inbox) == ["in two"]
    now[0] = 15.0
    assert texts(inbox) == ["in two", "in five"]


def test_threads_may_put_while_the_run_takes() -> None:
    inbox = Inbox()
    threads = [threading.Thread(target=lambda: [inbox.put("x") for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    taken = 0
    while any(thread.is_alive() for thread in threads) or len(inbox):
        due = inbox.due()
        inbox.taken(due)
        taken += len(due)
    assert taken == 2_000


@pytest.mark.parametrize("given", [7, None, Message("assistant", "x"), FunctionCall("c", "f", "{}"), b"x", {"role": "nobody"}])
def test_what_is_no_message_is_refused(given: Any) -> None:
    inbox = Inbox()
    with pytest.raises(UserError):
        inbox.put(given)
    assert len(inbox) == 0


@pytest.mark.parametrize("delay", [-1, float("nan")])
def test_a_delay_is_not_negative(delay: float) -> None:
    with pytest.raises(UserError, match=r"Inbox\(delay=.*expected finite seconds, 0 or more"):
        Inbox().put("x", delay=delay)
