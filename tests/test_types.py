"""Both type checkers, strict, over the package and over `tests/types_check/`, where `assert_type` says what a user sees.

That a wrong type is found is in `test_documentation_types.py`, which runs both as a user does.
"""

from __future__ import annotations

import pytest

from tests.checkers import MYPY, PYRIGHT, check


@pytest.mark.slow
@pytest.mark.parametrize("checker", [PYRIGHT, MYPY], ids=["pyright", "mypy"])
def test_the_package_is_typed(checker: list[str]) -> None:
    outcome = check(checker)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
