"""Print a list from a server: a line for each item, or JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from bbops.base.console import say

T = TypeVar("T")


def print_list(
    items: Sequence[T], line: Callable[[T], str], *, none: str = "", as_json: bool
) -> None:
    """Print items in their order.

    Args:
        line: returns the text of an item; its lines after the first are indented.
        none: the text for an empty list, unless JSON is printed.
    """
    if as_json:
        say(msgspec.json.encode(items).decode())
        return
    for item in items:
        say(line(item))
    if none and not items:
        say(none)
