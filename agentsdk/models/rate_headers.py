"""What a response's headers say about the provider's rate limits.

```
retry-after[-ms]                                            the provider asks for a pause
x-ratelimit-remaining-requests, x-ratelimit-reset-requests  and ...-tokens: OpenAI and most others; a duration such as "6m0s"
x-ratelimit-remaining, x-ratelimit-reset                    a duration, or a Unix timestamp in seconds or milliseconds
anthropic-ratelimit-tokens-remaining, ...-reset             and requests, input-tokens, output-tokens; an RFC 3339 time
```
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from math import isfinite

from agentsdk.models.retry import parse_retry_after

_PAIRS = (
    *((f"x-ratelimit-remaining{kind}", f"x-ratelimit-reset{kind}") for kind in ("-requests", "-tokens", "")),
    *(
        (f"anthropic-ratelimit-{kind}-remaining", f"anthropic-ratelimit-{kind}-reset")
        for kind in ("requests", "tokens", "input-tokens", "output-tokens")
    ),
)
_DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?")
_UNITS = (3600.0, 60.0, 1.0, 0.001)
_LONGEST_DURATION = 1e9  # a larger plain number is a time
_LONGEST_TIME = 1e11  # a larger one is in milliseconds


def rate_limit_wait(headers: Mapping[str, str], now: float) -> float:
    """Seconds from `now` (a Unix timestamp) until all limits of which nothing remains are reset, 0 where none is used up."""
    waits = [parse_retry_after(headers, now) or 0.0]
    for remaining, reset in _PAIRS:
        if headers.get(remaining, "").strip() in ("0", "0.0"):
            waits.append(seconds_until_reset(headers.get(reset, ""), now))
    return max(waits)


def seconds_until_reset(value: str, now: float) -> float:
    """Seconds from `now` until the moment that a reset header names; 0 for one that cannot be read."""
    value = value.strip()
    try:
        number = float(value)
    except ValueError:
        return _seconds_in_words(value, now)
    if not isfinite(number):
        return 0.0
    if number > _LONGEST_DURATION:
        number = (number / 1000 if number > _LONGEST_TIME else number) - now
    return max(0.0, number)


def _seconds_in_words(value: str, now: float) -> float:
    if value and (found := _DURATION.fullmatch(value)):
        return sum(float(part or 0) * unit for part, unit in zip(found.groups(), _UNITS, strict=True))
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return 0.0
    return max(0.0, moment.timestamp() - now) if moment.tzinfo is not None else 0.0
