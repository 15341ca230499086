"""The mailbox of a run in a file, beside its log and of the same form: each signal is a line, and a line that commits it.

It is written with the lock of the run's log, so that an append sees every signal before it, and a post sees whether the run is
over. The revision in its commit lines counts the signals; the rest of the summary there is the run's, as the signal left it.
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from agentsdk.databases.log_file import LogFile
from agentsdk.types.summary import RunSummary


class Mailbox:
    """The signals in the file at `path`; there is no file before the first."""

    def __init__(self, path: str) -> None:
        self._path = path

    def count(self) -> int:
        """How many signals were posted. Raises `OSError`, `StoreError`."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                last = self._log(file.fileno()).last()
        except (FileNotFoundError, NotADirectoryError):
            return 0
        return 0 if last is None else last.summary.rev

    def signals(self, after: int) -> list[bytes]:
        """Those behind number `after`. Raises `OSError`, `StoreError`, and `DamagedLogError`, as `LogFile.events`."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                log = self._log(file.fileno())
                last = log.last()
                return [] if last is None else log.events(last, after)
        except FileNotFoundError:
            return []

    def post(self, signal: bytes, run: RunSummary, *, sync: bool) -> int:
        """Add a signal to `run`; its number. Only with the lock of the log. Raises as `LogFile.write`."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            log = self._log(file)
            last = log.last()
            number = 1 if last is None else last.summary.rev + 1
            log.write([signal], replace(run.beside(number), rev=number), last, sync=sync)
        finally:
            os.close(file)
        return number

    def _log(self, file: int) -> LogFile:
        return LogFile(file, f"the mailbox {self._path!r}")
