"""What a value in a flow may be: its kinds, their words, and how large each may grow.

A value is None, bool, int, float, str, Decimal, datetime (aware, UTC), date, bytes, list or dict.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, TypeVar

from bbops.runtime.values.failures import BadValue, OutOfFuel, WrongKind

MAX_TEXT: Final = 1_000_000
"""Characters in a text."""
MAX_LIST: Final = 100_000
"""Members of a list, keys of a map."""
_SMALL_TEXT: Final = 4_096
_SMALL_LIST: Final = 512
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
    raise BadValue("the number is too large: whole numbers have 64 bits")


def bounded_text(text: str) -> str:
    """Return a text of at most MAX_TEXT characters; a longer one is a FlowError."""
    check_length(len(text))
    return text


FUEL: Final[ContextVar[list[int] | None]] = ContextVar("FUEL", default=None)
"""What the run under way has left. Large values cost some, so that no run can hold many."""


def spend(amount: int) -> None:
    """Take fuel of the run under way, if there is one.

    Raises:
        OutOfFuel: it has none left.
    """
    fuel = FUEL.get()
    if fuel is not None:
        fuel[0] -= amount
        if fuel[0] <= 0:
            raise OutOfFuel("the function creates too many large values")


def spend_rounds(count: int) -> None:
    """Take fuel for rounds that cannot be interrupted: calls of an arrow function.

    Raises:
        OutOfFuel: there is none left.
    """
    fuel = FUEL.get()
    if fuel is not None:
        fuel[0] -= count
        if fuel[0] <= 0:
            raise OutOfFuel("the function runs too long: too many loop rounds or calls")


def check_length(characters: int) -> None:
    """Refuse a text before it is built; `characters` is how long it would be."""
    if characters > MAX_TEXT:
        raise BadValue(f"the text is too long: {characters} characters, at most {MAX_TEXT}")
    if characters > _SMALL_TEXT:
        spend(characters >> 10)


def check_count(members: int) -> None:
    """Refuse a list or map before it is built; `members` is how many it would have."""
    if members > MAX_LIST:
        raise BadValue(f"the list is too long: {members} members, at most {MAX_LIST}")
    if members > _SMALL_LIST:
        spend(members >> 5)


Sized = TypeVar("Sized", bound="str | list[Any] | dict[str, Any]")


def paid(value: Sized) -> Sized:
    """Return a value that was just made, after paying for its size; see FUEL."""
    if len(value) > _SMALL_LIST:
        spend(len(value) >> (10 if isinstance(value, str) else 5))
    return value


def check_size(value: Any, most: int) -> None:
    """Refuse a value of more than `most` characters and members, all the way down.

    Needed before anything that unfolds a value: forty times `[x, x]` is small in memory, and
    2**40 members written out. Cost: one visit per member, at most `most`.
    """
    todo = [[value]]
    size = 0
    while todo:
        found: Any = todo.pop()
        size += len(found)
        if type(found) is dict:
            size += sum(map(len, found))
            found = found.values()
        for member in found:
            of = type(member)
            if of is str or of is bytes:
                size += len(member)
            elif of is list or of is dict:
                todo.append(member)
        if size > most:
            raise WrongKind(f"the value is too large: more than {most} characters and members")


def check_spent(nodes: int) -> None:
    """Refuse an operation that has visited more than MAX_NODES nested values."""
    if nodes > MAX_NODES:
        raise WrongKind(f"the value is too large: more than {MAX_NODES} nested values")


def encode_text(text: str) -> bytes:
    """Return the text in UTF-8; half a surrogate pair is a FlowError."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadValue("the text contains an unpaired surrogate (a lone surrogate)") from None


def quoted(names: Iterable[str]) -> str:
    """Return the names as messages show them: `'a', 'b'`."""
    return ", ".join(f"'{name}'" for name in names)
