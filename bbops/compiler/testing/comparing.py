"""Say in what a value differs from what a test expects of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

_LONGEST = 200
_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_QUOTE: Final = " (text, as decimals are in an answer: quote the number that is expected)"

Mask = Callable[[str, Any], Any]


def _as_it_is(_name: str, value: Any) -> Any:
    return value


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back: a datetime as text."""
    return msgspec.json.decode(msgspec.json.encode(value))


def differences(
    expected: Any, found: Any, path: str = "", mask: Mask = _as_it_is
) -> Iterator[tuple[str, str]]:
    """Yield (path, what is wrong); nothing when `found` holds at least what is expected.

    A map may have more keys; a list has the same length. Both are of JSON's types.

    Args:
        mask: takes a field's name and value, and hides it where it is a secret.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, inner in expected.items():
            way = f"{path}.{key}" if path else key
            if key not in found:
                yield way, f"expected {shown(mask(key, inner))}, found no such key"
            else:
                yield from differences(inner, found[key], way, mask)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for at, (inner, other) in enumerate(zip(expected, found, strict=True)):
            yield from differences(inner, other, f"{path}[{at}]", mask)
    elif isinstance(expected, list) and isinstance(found, list):
        name = _last(path)
        told = f"found {len(found)}: {shown(mask(name, found))}"
        yield path, f"expected {len(expected)} members, {told}"
    elif not _same(expected, found):
        name = _last(path)
        wanted, given = shown(mask(name, expected)), shown(mask(name, found))
        cure = _QUOTE if _is_that_decimal(expected, found) else ""
        yield path, f"expected {wanted}, found {given}{cure}"


def shown(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _last(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]


def _is_that_decimal(expected: Any, found: Any) -> bool:
    is_number = type(expected) in {int, float}
    return is_number and isinstance(found, str) and _DECIMAL.fullmatch(found) is not None


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    return bool(expected == found)
