"""Exit codes. docs/cli.md has them as a table."""

from __future__ import annotations

OK, FAILED, WRONG, WAITS, DIFFERS = range(5)
"""Exit codes: done; a run or what it needs failed; what was given is wrong; the run waits for somebody; two runs differ."""

PIPE_CLOSED, INTERRUPTED = 141, 130
"""What a shell says of a program whose reader is gone, and of one that was interrupted."""
