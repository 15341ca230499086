"""Where the suite takes a sample, as the whole takes long: `make whole` runs every case, by AGENTSDK_TESTS=whole."""

from __future__ import annotations

import os

WHOLE = os.environ.get("AGENTSDK_TESTS") == "whole"
