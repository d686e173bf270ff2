"""Parts of vendors' answers: texts, maps, counts of tokens, and answers without content."""

from __future__ import annotations

from typing import Any, Final

from bbops.runtime.steps.addons import AddonFailure

CUT_SHORT: Final = "the model wrote no text before its limit of tokens: raise 'maxTokens'"
MOST_TOKENS: Final = 1_000_000_000
"""The highest count that is believed: sums of it, and their prices, fit in columns."""
EMPTY: Final = "the model answered with neither a text nor a call of a tool"


def text_of(value: Any) -> str:
    """Return a text; anything else is an empty one."""
    return value if isinstance(value, str) else ""


def maps_in(value: Any) -> list[dict[str, Any]]:
    """Return the maps in a list; anything else is an empty one."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def tokens_at(usage: Any, *names: str) -> int:
    """Return the sum of counts in a vendor's usage; missing and negative ones are 0."""
    counts = [usage.get(name) for name in names] if isinstance(usage, dict) else []
    known = (count for count in counts if type(count) is int and count > 0)
    return sum(min(count, MOST_TOKENS) for count in known)


def no_answer(message: str) -> AddonFailure:
    """Return the failure of an answer that cannot be used."""
    return AddonFailure("addon-answer", message)
