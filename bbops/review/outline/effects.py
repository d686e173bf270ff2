"""The effect of a step in one line: its parameters as the file has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bbops.language.steps._base import find_step_kind

MAX_EFFECT: Final = 160
_PLAIN: Final = frozenset({
    "table", "where", "function", "event", "message", "url", "statement", "webhook", "realtime",
    "over", "relation", "collection", "to",
})  # fmt: skip
"""Keys whose values explain themselves."""


def effect_of(value: Any) -> str:
    """Return the parameters of a step in one line, such as `users · id == input.id`.

    Scalars are as written, maps are their keys, lists their length. Nested steps are left out.
    """
    text = " · ".join(filter(None, _parts(value)))
    return text if len(text) <= MAX_EFFECT else f"{text[: MAX_EFFECT - 1].rstrip()}…"


def _parts(value: Any) -> Iterator[str]:
    if not isinstance(value, dict):
        yield "" if has_steps(value) else summarize(value)
        return
    for key, entry in value.items():
        if has_steps(entry):
            yield "" if key == "steps" else str(key)
        elif key in _PLAIN:
            yield summarize(entry)
        else:
            yield f"{key}: {summarize(entry)}"


def summarize(value: Any) -> str:
    """Return a value in one line: a scalar as written, a map as its keys, a list as its length."""
    match value:
        case dict():
            return ", ".join(map(str, value)) or "{}"
        case list():
            return f"{len(value)} {'item' if len(value) == 1 else 'items'}"
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case _:
            return " ".join(str(value).split())[: MAX_EFFECT + 1]


def has_steps(value: Any) -> bool:
    """Return whether a value is a list of steps: of maps that are not plain data."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(entry, dict) and any(find_step_kind(str(key)) is not None for key in entry)
            for entry in value
        )
    )
