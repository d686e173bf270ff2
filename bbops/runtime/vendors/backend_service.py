"""backendService, in the shapes of Supabase's REST API, which is PostgREST's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import UNSET

from bbops.base.host import HttpResponse
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._parts import bearer, pick, segment, text_at
from bbops.runtime.vendors._work import Work

Pairs = list[tuple[str, str]]

_OPERATORS: Final = (
    "eq", "neq", "gt", "gte", "lt", "lte", "like", "ilike", "is", "in", "not", "cs", "cd", "fts",
)  # fmt: skip
_COLUMN: Final = re.compile(r"[A-Za-z_][\w.]{0,199}(->>?\w{1,100}){0,10}").fullmatch
_WORDS: Final = frozenset({
    "select", "order", "limit", "offset", "columns", "on_conflict", "and", "or",
})  # fmt: skip
_QUOTED: Final = re.compile(r'[,()"\\:\s]|^$').search
_SPACE: Final = re.compile(r"\s+")
_JWT: Final = "eyJ"
"""How old keys begin. New ones (`sb_secret_…`) are no tokens, and refused as such."""


async def query(work: Work, given: Mapping[str, Any]) -> Any:
    """Read rows."""
    pairs = [("select", _SPACE.sub("", given.get("select", "*"))), *_filters(given)]
    pairs += [(name, str(value)) for name, value in pick(given, "order", "limit").items()]
    return await _ask(work, "GET", given, pairs)


async def insert(work: Work, given: Mapping[str, Any]) -> Any:
    """Write new rows; rows of a list may lack columns, which get their defaults."""
    rows, prefer = given["data"], "return=representation"
    prefer += ",resolution=merge-duplicates" if given.get("upsert") else ""
    names = dict.fromkeys(name for row in rows for name in row) if isinstance(rows, list) else {}
    pairs = [("on_conflict", given["onConflict"])] if given.get("onConflict") else []
    if names:
        prefer += ",missing=default"
        pairs.append(("columns", ",".join(f'"{name}"' for name in names)))
    return await _ask(work, "POST", given, pairs, rows, prefer)


async def update(work: Work, given: Mapping[str, Any]) -> Any:
    """Change the rows that fit."""
    return await _ask(
        work, "PATCH", given, _narrowed(given), given["data"], "return=representation"
    )  # fmt: skip


async def delete(work: Work, given: Mapping[str, Any]) -> Any:
    """Delete the rows that fit."""
    return await _ask(work, "DELETE", given, _narrowed(given), UNSET, "return=representation")


def _narrowed(given: Mapping[str, Any]) -> Pairs:
    if not given["filters"]:
        raise FlowError("'filters' must not be empty: every row would be meant")
    return _filters(given)


def _filters(given: Mapping[str, Any]) -> Pairs:
    return [pair for name, wanted in (given.get("filters") or {}).items()
            for pair in _filter(name, wanted)]  # fmt: skip


def _filter(column: str, wanted: Any) -> Iterator[tuple[str, str]]:
    """Yield what a column must be: a value, null, one of a list, or a map of operators."""
    if not _COLUMN(column) or column in _WORDS:
        raise FlowError(f"'{column[:60]}' in 'filters' is not the name of a column")
    for operator, value in _comparisons(wanted):
        if operator not in _OPERATORS:
            known = ", ".join(_OPERATORS)
            raise FlowError(f"'{operator[:40]}' in 'filters' is not an operator: use {known}")
        values = value if isinstance(value, list) else [value]
        if operator != "in":
            yield column, f"{operator}.{_text(value)}"
        elif len(values) == 1:  # `in.("")` is no value at all there
            yield column, f"eq.{_text(values[0])}"
        else:
            yield column, f"in.({','.join(map(_quoted, values))})"


def _comparisons(wanted: Any) -> list[tuple[str, Any]]:
    if isinstance(wanted, dict):
        return [*wanted.items()]
    if isinstance(wanted, list):
        return [("in", wanted)]
    return [("is" if wanted is None or isinstance(wanted, bool) else "eq", wanted)]


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quoted(value: Any) -> str:
    text = _text(value)
    if not _QUOTED(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


async def _ask(
    work: Work, method: str, given: Mapping[str, Any], pairs: Pairs, body: Any = UNSET,
    prefer: str = "",
) -> Any:  # fmt: skip
    headers = _sign_in(work)
    headers |= {"prefer": prefer} if prefer else {}
    url = f"{work.setting('projectUrl').rstrip('/')}/rest/v1/{segment(given['table'], 'table')}"
    url += f"?{urlencode(pairs)}" if pairs else ""
    return await work.ask(method, url, headers, body, refusal=_refusal) or []


def _refusal(_: HttpResponse, found: Any) -> Refusal:
    return Refusal(text_at(found, "message"), text_at(found, "code"))


async def probe(work: Work) -> str:
    """Read what tables there are."""
    headers = _sign_in(work)
    url = f"{work.setting('projectUrl').rstrip('/')}/rest/v1/"
    await work.ask("GET", url, headers, refusal=_refusal)
    return ""


def _sign_in(work: Work) -> dict[str, str]:
    key = work.setting("serviceRoleKey")
    return {"apikey": key} | (bearer(key) if key.startswith(_JWT) else {})


STEPS: Final = {"query": query, "insert": insert, "update": update, "delete": delete}
PROBE: Final = probe
