"""What compiled code calls for the step `http`: from values to bytes, and back."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from bbops.base.header_values import MAX_CHARACTERS, find_fault
from bbops.base.host import HttpRequest, HttpResponse
from bbops.runtime.values.failures import BadHeader, HttpFailure, WrongKind
from bbops.runtime.values.operators import kind, text
from bbops.runtime.values.outside import Refusal, failure_of, may_repeat, send
from bbops.runtime.values.values import check_size, spend

TIMEOUT_SECONDS: Final = 30.0
"""How long an answer may take; a step's `timeout` may be shorter."""
MAX_SENT: Final = 10_000_000
"""Characters and members of a body."""
OURS: Final = frozenset({
    "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer",
    "accept-encoding", "proxy-authorization", "keep-alive", "expect",
})  # fmt: skip
"""Headers that the connection itself needs."""

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}").fullmatch
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_CHARSETS = {"iso-8859-1": "latin-1", "latin1": "latin-1", "windows-1252": "cp1252"}


def can_send(header: str) -> bool:
    """Return whether a request may have a header: its name is valid, and not the connection's."""
    return _NAME(header) is not None and header.lower() not in OURS


async def ask(
    run_host: Any, method: str, url: Any, headers: Any, query: Any, body: Any, form: Any,
    allowed: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return `{status, headers, body}`; `body` and `form` are lists of one, or empty.

    Raises:
        HttpFailure: see there; also for a status that is neither 2xx nor `allowed`.
        BadHeader: a header cannot be sent.
    """
    sent, content_type = _body(body, form)
    given = _headers(headers)
    if content_type:
        given = {"content-type": content_type, **given}
    request = HttpRequest(method, _url(url, query), given, sent, TIMEOUT_SECONDS)
    repeats = may_repeat(method, given)
    answer = await send(run_host.http, request, repeats=repeats)
    if not 200 <= answer.status <= 299 and answer.status not in (allowed or ()):
        raise failure_of(request.url, answer, run_host.clock.now(), Refusal(), repeats=repeats)
    spend(len(answer.body) >> 10)
    read = {"status": answer.status, "headers": dict(answer.headers), "body": _read(answer)}
    if run_host.record is not None:
        await run_host.record.accept()
    return read


def _url(url: Any, query: Any) -> str:
    if type(url) is not str or not url.startswith(("http://", "https://")):
        raise HttpFailure("httpInvalid", "'url' needs a text that begins with https:// or http://")
    pairs = _pairs(query, "query")
    if not pairs:
        return url
    head, hash_, _ = url.partition("#")
    del hash_
    return head + ("&" if "?" in head else "?") + urlencode(pairs)


def _pairs(values: Any, what: str) -> list[tuple[str, str]]:
    """Return names with texts: one for each member of a list, none for null."""
    if values is None:
        return []
    if type(values) is not dict:
        raise WrongKind(f"'{what}' needs a map, got {kind(values)}")
    found = []
    for name, value in values.items():
        many = value if type(value) is list else [] if value is None else [value]
        found += [(name, text(one)) for one in many]
    return found


def _headers(headers: Any) -> dict[str, str]:
    found = {}
    for name, value in _pairs(headers, "headers"):
        lower = name.lower()
        if not can_send(name):
            raise BadHeader(f"header '{name[:60]}' cannot be sent")
        if fault := find_fault(value, MAX_CHARACTERS):
            raise BadHeader(f"header '{name}' {fault}")
        found[lower] = value
    return found


def _body(body: list[Any], form: list[Any]) -> tuple[bytes, str]:
    if form:
        check_size(form, MAX_SENT)
        pairs = _pairs(form[0], "form")
        return urlencode(pairs).encode(), "application/x-www-form-urlencoded"
    if not body:
        return b"", ""
    if type(body[0]) is bytes:
        return body[0], "application/octet-stream"
    check_size(body, MAX_SENT)
    try:
        return _encode(body[0]), "application/json"
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raise WrongKind("'body' cannot be written as JSON") from None


def _read(answer: HttpResponse) -> Any:
    """Return JSON as its value, anything else as text; null without a body."""
    if not answer.body:
        return None
    kind_, _, rest = answer.headers.get("content-type", "").lower().partition(";")
    if kind_.strip().endswith(("/json", "+json")):
        try:
            found = _decode(answer.body)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            pass
        else:
            check_size([found], MAX_SENT)
            return found
    charset = rest.partition("charset=")[2].strip(" \"'")
    return answer.body.decode(_CHARSETS.get(charset, "utf-8"), "replace")
