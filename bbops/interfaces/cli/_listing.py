"""Show what a server has many of: a line each, or JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from bbops.base.console import say

T = TypeVar("T")


def say_list(
    found: Sequence[T], line: Callable[[T], str], *, none: str = "", as_json: bool
) -> None:
    """Print what was found in its order.

    Args:
        line: what is said of one; lines below the first are set in.
        none: what is said where nothing was found, unless JSON is asked for.
    """
    if as_json:
        say(msgspec.json.encode(found).decode())
        return
    for one in found:
        say(line(one))
    if none and not found:
        say(none)
