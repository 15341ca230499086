"""The thread that ends spans."""

from __future__ import annotations

import gc
import os
import threading

import pytest

from agentsdk.tracing.outbox import Outbox


def test_jobs_are_done_in_order() -> None:
    outbox, done = Outbox(), list[int]()
    for number in range(100):
        outbox.put(lambda number=number: done.append(number))
    assert outbox.drain(60)
    assert done == list(range(100))


def test_without_a_job_there_is_no_thread() -> None:
    before = threading.active_count()
    assert Outbox().drain(60)
    assert threading.active_count() == before


def test_a_raising_job_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    outbox, done = Outbox(), list[int]()
    for _ in range(3):
        outbox.put(lambda: 1 / 0)
    outbox.put(lambda: done.append(1))
    assert outbox.drain(60)
    assert done == [1]
    assert len(caplog.records) == 1


def test_behind_a_hanging_job_only_so_many_wait(caplog: pytest.LogCaptureFixture) -> None:
    outbox, done, free, begun = Outbox(limit=5), list[int](), threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        free.wait(60)

    outbox.put(hang)
    assert begun.wait(60)
    for number in range(20):
        outbox.put(lambda number=number: done.append(number))
    assert not outbox.drain(0)
    free.set()
    assert outbox.drain(60)
    assert done == [0, 1, 2, 3, 4]
    assert "an exporter hangs" in caplog.text


def test_a_dropped_outbox_ends_its_thread() -> None:
    outbox = Outbox()
    outbox.put(lambda: None)
    assert outbox.drain(60)
    threads = [thread for thread in threading.enumerate() if thread.name == "agentsdk tracing"]
    del outbox
    gc.collect()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def test_the_thread_is_there_while_somebody_has_work_to_do() -> None:
    outbox, seen = Outbox(), list[threading.Thread]()
    outbox.begin()
    outbox.begin()
    for _ in range(2):
        outbox.put(lambda: seen.append(threading.current_thread()))
        assert outbox.drain(60)
    outbox.finish()
    assert outbox.drain(60)
    [thread] = set(seen)
    assert thread.is_alive()
    outbox.finish()
    assert outbox.drain(60)
    assert not thread.is_alive()
    outbox.put(lambda: seen.append(threading.current_thread()))
    assert outbox.drain(60)
    assert seen[-1] is not thread and not seen[-1].is_alive(), "what comes late has a thread of its own"


def test_no_job_is_lost_or_done_twice_however_threads_begin_and_finish() -> None:
    outbox, done = Outbox(), list[tuple[int, int]]()

    def work(worker: int) -> None:
        for number in range(200):
            outbox.begin()
            outbox.put(lambda number=number: done.append((worker, number)))
            outbox.finish()
            if number % 7 == 0:
                assert outbox.drain(60)

    workers = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join(60)
    assert outbox.drain(60)
    assert sorted(done) == [(worker, number) for worker in range(4) for number in range(200)]
    for worker in range(4):
        assert [number for by, number in done if by == worker] == list(range(200))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_a_thread_of_its_own() -> None:
    outbox = Outbox()
    outbox.put(lambda: None)
    assert outbox.drain(60)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        outbox.put(lambda: os.write(writer, b"child"))
        outbox.drain(60)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    assert os.read(reader, 10) == b"child"
    os.close(reader)
