"""A pytest plugin: writes a line of JSON for each test to the file that COMPAT_OUTCOMES names, once its outcome is known."""

import json
import os

import pytest

_PLACE = os.environ["COMPAT_OUTCOMES"]


def _write(**fields):
    with open(_PLACE, "a", encoding="utf-8") as file:
        file.write(json.dumps(fields) + "\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when != "call" and report.outcome == "passed":
        return
    outcome = "error" if report.outcome == "failed" and report.when != "call" else report.outcome
    if report.when == "teardown" and outcome == "skipped":
        return
    kind = text = ""
    if call.excinfo is not None:
        kind, text = call.excinfo.type.__name__, str(call.excinfo.value)
    _write(id=item.nodeid, outcome=outcome, kind=kind, text=text[:2000])


def pytest_collectreport(report):
    if report.failed:
        text = str(getattr(report.longrepr, "longrepr", report.longrepr)).strip()
        _write(id=report.nodeid, outcome="unimported", kind="", text=text.splitlines()[-1][:500])


def pytest_collection_finish(session):
    _write(id="", outcome="collected", kind="", text=str(len(session.items)))
