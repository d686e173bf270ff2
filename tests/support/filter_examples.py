"""Run filters without the compiler: by name, or as their examples are written."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from bbops.runtime.values.filters import FILTERS, FUNCTIONS

TOKEN = re.compile(r"\s*('(?:[^'\\]|\\.)*'|-?\d+(?:\.\d+)?|\w+|[\[\](),|])")
NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)
WORDS = {"true": True, "false": False, "null": None}


def apply(name: str, value: Any, *arguments: Any) -> Any:
    return FILTERS[name].apply(value, *arguments)


def run(expression: str, host: Any = None) -> Any:
    """Return the value of literals, calls and filters; nothing else is understood."""
    tokens = TOKEN.findall(expression)
    value = _filtered(tokens, host)
    assert not tokens, tokens
    return value


def _filtered(tokens: list[str], host: Any) -> Any:
    value = _primary(tokens, host)
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        chosen = FILTERS[tokens.pop(0)]
        arguments = _arguments(tokens, host)
        assert chosen.least <= len(arguments) <= chosen.most
        value = chosen.apply(value, *arguments)
    return value


def _primary(tokens: list[str], host: Any) -> Any:
    token = tokens.pop(0)
    if token == "[":
        return _until("]", tokens, host)
    if token.startswith("'"):
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    if token in WORDS:
        return WORDS[token]
    if token in FUNCTIONS:
        return _call(token, tokens, host)
    return float(token) if "." in token else int(token)


def _call(name: str, tokens: list[str], host: Any) -> Any:
    function, arguments = FUNCTIONS[name], _arguments(tokens, host)
    assert function.least <= len(arguments) <= function.most
    return function.apply(*([host] if function.needs_host else []), *arguments)


def _arguments(tokens: list[str], host: Any) -> list[Any]:
    if not tokens or tokens[0] != "(":
        return []
    tokens.pop(0)
    return _until(")", tokens, host)


def _until(end: str, tokens: list[str], host: Any) -> list[Any]:
    values = []
    while tokens[0] != end:
        values.append(_filtered(tokens, host))
        if tokens[0] == ",":
            tokens.pop(0)
    tokens.pop(0)
    return values
