"""What a value in a flow may be: its kinds, their words, and how large each may grow.

A value is None, bool, int, float, str, Decimal, datetime (aware, UTC), date, bytes, list or dict.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from bbops.runtime.failures import FlowError

MAX_TEXT: Final = 1_000_000
"""Characters in a text."""
MAX_LIST: Final = 100_000
"""Members of a list, keys of a map."""
MAX_INTEGER: Final = 2**63 - 1
MIN_INTEGER: Final = -(2**63)
MAX_NODES: Final = 250_000
"""Values one operation visits inside nested lists and maps."""

NUMBERS: Final = frozenset((int, float, Decimal))
_LARGEST_FLOAT: Final = 1.7976931348623157e308
_KINDS: Final[dict[type, str]] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    Decimal: "decimal",
    str: "text",
    datetime: "datetime",
    date: "date",
    bytes: "bytes",
    list: "list",
    dict: "map",
}


def kind(value: Any) -> str:
    """Return the word a message uses for this value, such as `text` or `null`."""
    return _KINDS.get(type(value), "value")


def bounded_number(number: Any) -> Any:
    """Return an int of 64 bits or a finite float; anything else is a FlowError."""
    if type(number) is int:
        if MIN_INTEGER <= number <= MAX_INTEGER:
            return number
    elif -_LARGEST_FLOAT <= number <= _LARGEST_FLOAT:
        return number
    raise FlowError("the number is too large: whole numbers have 64 bits")


def bounded_text(text: str) -> str:
    """Return a text of at most MAX_TEXT characters; a longer one is a FlowError."""
    check_length(len(text))
    return text


def check_length(characters: int) -> None:
    """Refuse a text before it is built; `characters` is how long it would be."""
    if characters > MAX_TEXT:
        raise FlowError(f"the text is too long: {characters} characters, at most {MAX_TEXT}")


def check_count(members: int) -> None:
    """Refuse a list or map before it is built; `members` is how many it would have."""
    if members > MAX_LIST:
        raise FlowError(f"the list is too long: {members} members, at most {MAX_LIST}")


def check_size(value: Any, most: int) -> None:
    """Refuse a value of more than `most` characters and members, all the way down.

    Needed before anything that unfolds a value: forty times `[x, x]` is small in memory, and
    2**40 members written out. Cost: one visit per member, at most `most`.
    """
    todo = [value]
    size = 0
    while todo:
        found = todo.pop()
        if type(found) is str or type(found) is bytes:
            size += len(found)
        elif type(found) is list:
            todo.extend(found)
            size += len(found)
        elif type(found) is dict:
            todo.extend(found.values())
            size += len(found) + sum(map(len, found))
        if size > most:
            raise FlowError(f"the value is too large: more than {most} characters and members")


def check_spent(nodes: int) -> None:
    """Refuse an operation that has visited more than MAX_NODES nested values."""
    if nodes > MAX_NODES:
        raise FlowError(f"the value is too large: more than {MAX_NODES} nested values")


def encode_text(text: str) -> bytes:
    """Return the text in UTF-8; half a surrogate pair is a FlowError."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise FlowError("the text holds half a character (a lone surrogate)") from None


def quoted(names: Iterable[str]) -> str:
    """Return the names as messages show them: `'a', 'b'`."""
    return ", ".join(f"'{name}'" for name in names)
