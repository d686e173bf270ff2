"""How a filter or function is declared: where it is written; its docstring is its summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, Final, TypeVar

from bbops.runtime.values.failures import BadValue, FlowError, WrongKind
from bbops.runtime.values.values import NUMBERS, bounded_number, kind, spend_rounds

Apply = TypeVar("Apply", bound=Callable[..., Any])
Arrow = Callable[[Any, int], Any]
"""An arrow function: takes a member and its place from 0 on."""

MOST: Final = 64
"""Arguments a filter takes at most that takes any number of them."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter: `apply(value, *arguments)`, safe on any value, bounded, FlowError on misuse.

    `least` and `most` count the arguments behind the value. `takes` and `gives` are words out of
    `any text number list map datetime date boolean integer bytes same item`; a space means "or".
    `example` is an expression and its result. `arrows` says of the arguments that may be arrow
    functions, by their places behind the value, whether they must be.
    """

    apply: Callable[..., Any]
    least: int
    most: int
    takes: str
    gives: str
    accepts_null: bool
    summary: str
    example: tuple[str, Any]
    arrows: Mapping[int, bool]


@dataclass(frozen=True, slots=True)
class Function:
    """A function: `apply(*arguments)`, or `apply(host, *arguments)` where it needs the host.

    `least` and `most` count the arguments the author writes.
    """

    apply: Callable[..., Any]
    least: int
    most: int
    gives: str
    needs_host: bool
    summary: str
    example: tuple[str, Any]


FILTERS: dict[str, Filter] = {}
"""Every filter by the name it has in an expression."""
FUNCTIONS: dict[str, Function] = {}
"""Every function by the name it has in an expression, but for those of queries."""


def add_filter(
    name: str,
    example: tuple[str, Any],
    *,
    takes: str,
    gives: str,
    accepts_null: bool = False,
) -> Callable[[Apply], Apply]:
    """Register the decorated `apply` as the filter `name`; its signature tells the arguments."""

    def register(apply: Apply) -> Apply:
        least, most = _arguments(apply, hidden=1)
        FILTERS[name] = Filter(
            apply, least, most, takes, gives, accepts_null, _summary(apply), example,
            _arrows(apply),
        )  # fmt: skip
        return apply

    return register


def add_function(
    name: str, example: tuple[str, Any], *, gives: str, needs_host: bool = False
) -> Callable[[Apply], Apply]:
    """Register the decorated `apply` as the function `name`; its signature tells the arguments."""

    def register(apply: Apply) -> Apply:
        least, most = _arguments(apply, hidden=int(needs_host))
        FUNCTIONS[name] = Function(apply, least, most, gives, needs_host, _summary(apply), example)
        return apply

    return register


def need_text(value: Any, name: str) -> str:
    """Return a text, or refuse what the filter or argument `name` was given instead."""
    if type(value) is str:
        return value
    raise WrongKind(refused(name, "text", value))


def need_list(value: Any, name: str) -> list[Any]:
    """Return a list, or refuse what the filter or argument `name` was given instead."""
    if type(value) is list:
        return value
    raise WrongKind(refused(name, "a list", value))


def need_map(value: Any, name: str) -> dict[str, Any]:
    """Return a map, or refuse what the filter or argument `name` was given instead."""
    if type(value) is dict:
        return value
    raise WrongKind(refused(name, "a map", value))


def need_number(value: Any, name: str) -> Any:
    """Return an int, float or Decimal, or refuse what `name` was given instead."""
    if type(value) in NUMBERS:
        return bounded_number(value)
    raise WrongKind(refused(name, "a number", value))


def need_integer(value: Any, name: str) -> int:
    """Return a whole number, or refuse what `name` was given instead."""
    if type(value) is int:
        return value
    if type(value) is float:
        message = f"'{name}' needs a whole number"
        raise BadValue(f"{message}, found {value}: add '| floor' or '| round'", said=message)
    raise WrongKind(refused(name, "a whole number", value))


def asked(members: Sequence[Any], arrow: Arrow) -> list[Any]:
    """Return what an arrow function gives for each member; each is a round of the run."""
    _need_arrow(arrow)
    spend_rounds(len(members))
    return [arrow(member, at) for at, member in enumerate(members)]


def asking(members: Sequence[Any], arrow: Arrow) -> Iterator[tuple[Any, Any]]:
    """Yield each member with what an arrow function gives for it, as far as somebody reads."""
    _need_arrow(arrow)
    for at, member in enumerate(members):
        spend_rounds(1)
        yield member, arrow(member, at)


def _need_arrow(arrow: Any) -> None:
    if not callable(arrow):
        raise FlowError("a filter of lists needs an arrow function")


def refused(name: str, wanted: str, value: Any) -> str:
    """Return the message for a filter or argument that was given another kind of value."""
    found = f"'{name}' needs {wanted}, found {kind(value)}"
    return f"{found}: add '| default(…)' where it may be null" if value is None else found


def _arguments(apply: Callable[..., Any], *, hidden: int) -> tuple[int, int]:
    code = apply.__code__
    named = code.co_argcount - hidden
    takes_any_number = bool(code.co_flags & 0x04)  # inspect.CO_VARARGS, without its import
    return named - len(apply.__defaults__ or ()), MOST if takes_any_number else named


def _arrows(apply: Callable[..., Any]) -> dict[int, bool]:
    """Return which arguments are arrow functions by their annotations, and whether they must be."""
    hints = apply.__annotations__
    names = apply.__code__.co_varnames[1 : apply.__code__.co_argcount]
    words = {at: str(hints[name]).split(" | ") for at, name in enumerate(names)}
    return {at: len(one) == 1 for at, one in words.items() if "Arrow" in one}


def _summary(apply: Callable[..., Any]) -> str:
    return cleandoc(apply.__doc__ or "")
