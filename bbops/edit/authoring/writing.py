"""Data as the text of a file in our style, and the digest by which an edited one is known."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from bbops.base.model import plain

_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_/ .@-]*[A-Za-z0-9_/?]|[A-Za-z_/]").fullmatch
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~", ""})
_WIDTH: Final = 70
_STEPS: Final = frozenset({"steps", "then", "else", "transaction"})


def write_file(data: Mapping[str, Any]) -> str:
    """Return the text of a file: short values on one line, others on lines of their own."""
    return _block(data, 0)


def _block(data: Mapping[str, Any], indent: int) -> str:
    pad, lines = "  " * indent, []
    for key, value in data.items():
        told = _flow(value)
        if isinstance(value, dict) and value and len(told) > _WIDTH:
            lines.append(f"{pad}{_scalar(key)}:\n{_block(value, indent + 1)}")
        elif key in _STEPS and isinstance(value, list):
            lines.append(f"{pad}{_scalar(key)}:\n{_steps(value, indent + 1)}")
        else:
            lines.append(f"{pad}{_scalar(key)}: {told}\n")
    return "".join(lines)


def _steps(steps: list[Any], indent: int) -> str:
    """Return steps, each on lines of its own."""
    pad = "  " * indent
    each = (_block(one, indent + 1) for one in steps)
    return "".join(f"{pad}- {one[len(pad) + 2 :]}" for one in each)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{_scalar(key)}: {_flow(one)}" for key, one in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    """Return a value so that YAML reads it as what it is."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN(value) and value.lower() not in _WORDS and "  " not in value:
        return value
    return json.dumps(value, ensure_ascii=False)


def digest_of(data: Mapping[str, Any]) -> str:
    """Return the digest of what a file says, without what `source` notes."""
    told = {key: one for key, one in plain(data).items() if key != "source"}
    whole = json.dumps(told, sort_keys=True, separators=(",", ":"), default=str)
    return f"sha256:{hashlib.sha256(whole.encode()).hexdigest()}"
