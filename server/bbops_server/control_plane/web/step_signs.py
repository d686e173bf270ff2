"""The icons of steps, with the tones that tell data, flow and the outside world apart."""

from __future__ import annotations

from typing import Final

from bbops.review.outline.outline import StepOutline

_SIGNS: Final = {
    "find": ("table", "db"), "insert": ("plus", "db"), "update": ("check", "db"),
    "delete": ("cross", "db"), "sql": ("log", "db"), "transaction": ("lock", "db"),
    "if": ("if", "flowy"), "switch": ("if", "flowy"), "loop": ("loop", "flowy"),
    "parallel": ("flow", "flowy"), "try": ("warn", "flowy"), "call": ("route", "flowy"),
    "wait": ("clock", "flowy"), "return": ("return", "end"), "throw": ("cross", "end"),
    "http": ("globe", "out"), "send": ("send", "out"), "publish": ("live", "out"),
    "emit": ("pulse", "out"), "enqueue": ("clock", "out"), "log": ("book", ""),
    "validate": ("check", ""), "html": ("log", ""),
}  # fmt: skip
_KEYS: Final = ("Password", "Token", "ApiKey", "Jwt")
"""Parts of the names of steps that handle credentials."""


def sign_of(step: StepOutline) -> tuple[str, str]:
    """Return the icon of a step and its tone; the tone of a plain step is empty."""
    if step.key in _SIGNS:
        return _SIGNS[step.key]
    if step.addon:
        return "plug", "out"
    return ("key", "") if any(part in step.key for part in _KEYS) else ("grip", "")
