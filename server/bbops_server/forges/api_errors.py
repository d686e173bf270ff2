"""The errors of a forge's API, in one line and without the credential."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from bbops.base.host import HttpRequest, HttpResponse
from bbops.base.render import one_line
from bbops_server.forges.hosted import (
    ForgeConflict,
    ForgeError,
    ForgeForbidden,
    ForgeGone,
    ForgeRejected,
)

MAX_MESSAGE: Final = 300
_CREDENTIALS: Final = ("authorization", "private-token")
_CONFLICTS: Final = frozenset({405, 409, 412, 422})
_KINDS: Final[dict[int, type[ForgeError]]] = {
    401: ForgeRejected, 403: ForgeForbidden, 404: ForgeGone, 410: ForgeGone,
    **dict.fromkeys(_CONFLICTS, ForgeConflict),
}  # fmt: skip


def make_error(request: HttpRequest, response: HttpResponse, right: str) -> ForgeError:
    """Return the error for a response that is not a success.

    Args:
        request: the request.
        response: the forge's response.
        right: the right that the request needs, as the forge calls it.
    """
    where = f"{request.method} {name_path(request.url)}"
    said = read_message(request, response)
    message = f"{where} was answered with {response.status}{': ' if said else ''}{said}"
    return _KINDS.get(response.status, ForgeError)(message, hint=_hint(response, right))


def name_path(url: str) -> str:
    """Return the path of a URL for messages, without its query."""
    return "/" + one_line(url.partition("?")[0].partition("://")[2].partition("/")[2])


def read_message(request: HttpRequest, response: HttpResponse) -> str:
    """Return a forge's message, at most `MAX_MESSAGE` characters without the credential."""
    try:
        value = msgspec.json.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    text = one_line("; ".join(dict.fromkeys(_texts(value))))
    for secret in _secrets(request):
        text = text.replace(secret, "…")
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"


def _hint(response: HttpResponse, right: str) -> str:
    if response.status == 401:
        return "the credential has expired or was revoked; 'bbops forge connect' stores a new one"
    accepted = response.headers.get("x-accepted-github-permissions", "")
    needed = one_line(accepted[:100]).replace("=", ": ") or right
    if response.status == 403 and needed:
        return f"the credential needs the right '{needed}'"
    return ""


def _texts(value: Any) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    for name in ("message", "error", "error_description"):
        yield from _flatten(value.get(name))
    details = value.get("errors")
    yield from _details(details if isinstance(details, list) else ())


def _flatten(value: Any) -> Iterator[str]:
    """Yield a text, the texts of a list, or the keys of an object with their texts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (text for text in value if isinstance(text, str))
    elif isinstance(value, dict):
        yield from (f"{key} {text}" for key in value for text in _flatten(value[key]))


def _details(details: Iterable[Any]) -> Iterator[str]:
    for detail in details:
        if isinstance(detail, str):
            yield detail
        elif isinstance(detail, dict):
            text = detail.get("message")
            parts = (detail.get("field"), detail.get("code"))
            yield text if isinstance(text, str) else " ".join(filter(None, map(_text, parts)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _secrets(request: HttpRequest) -> Iterator[str]:
    for name in _CREDENTIALS:
        if words := request.headers.get(name, "").split():
            yield words[-1]
