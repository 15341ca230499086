"""The set-up step of local models: `python -m agentsdk.models.local` fetches and verifies the weights."""

from __future__ import annotations

import sys
from functools import partial

from agentsdk.models.local.weights import KNOWN, fetch_weights, require_engine
from agentsdk.types.errors import UserError


def main(names: list[str]) -> int:
    """Fetch the weights called `names`, or all that have a name. The exit status."""
    try:
        require_engine()
        for name in names or KNOWN:
            # Flushed, because pip writes to the same place in between.
            fetch_weights(name, partial(print, flush=True))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
