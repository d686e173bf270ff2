"""The functions of expressions; those that need time or chance ask the host."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from bbops.base.host import Doors
from bbops.runtime.values.failures import BadValue
from bbops.runtime.values.filters._registry import add_function, need_integer
from bbops.runtime.values.values import check_count

_MAX_TOKEN: Final = 1_000


@add_function("range", ("range(3)", [0, 1, 2]), gives="list")
def count_up(count: Any) -> list[int]:
    """The whole numbers from 0 to n-1."""
    number = need_integer(count, "range")
    check_count(number)
    return list(range(number))


@add_function(
    "now",
    ("now() | date('%Y') | length", 4),
    gives="datetime",
    needs_host=True,
)
def now(host: Doors) -> datetime:
    """The time, the same all through a step."""
    return host.clock.now()


@add_function("uuid", ("uuid() | length", 36), gives="text", needs_host=True)
def uuid(host: Doors) -> str:
    """A new random UUID."""
    return host.random.uuid()


@add_function(
    "randomToken",
    ("randomToken(8) | length", 8),
    gives="text",
    needs_host=True,
)
def random_token(host: Doors, length: Any) -> str:
    """That many random characters of a-z and 0-9, fit for secrets."""
    number = need_integer(length, "randomToken")
    if not 1 <= number <= _MAX_TOKEN:
        raise BadValue(f"'randomToken' gives 1 to {_MAX_TOKEN} characters, not {number}")
    return host.random.token(number)


@add_function(
    "random",
    ("random(3, 3)", 3),
    gives="integer",
    needs_host=True,
)
def random_integer(host: Doors, low: Any, high: Any) -> int:
    """A random whole number, both ends included."""
    least, most = need_integer(low, "random"), need_integer(high, "random")
    if least > most:
        raise BadValue("'random' needs its lower end first")
    return host.random.integer(least, most)
