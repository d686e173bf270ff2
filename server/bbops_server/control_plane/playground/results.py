"""The results of the Playground: a response as people and programs read it, and its differences."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final

import msgspec

from bbops.review.contract.form_requests import Credential, OutgoingRequest
from bbops.review.contract.snippets import (
    DRAFT_HEADER,
    without_secrets,
    write_curl,
    write_python,
    write_typescript,
)
from bbops.review.replay.recorded import Recorded
from bbops.review.replay.sending import Reply, Sent, compare
from bbops.runtime.flow.masking import mask_text, mask_value
from bbops.runtime.flow.tracing import SpanKind
from bbops.runtime.http.exchanges import MOST_READ_BYTES
from bbops_server.mcp.requests import Exchanged, read_subject

_JSON: Final = "json"


class Snippets(msgspec.Struct, frozen=True):
    """The request in three languages; credentials are the variables `TOKEN` and `DRAFT_TOKEN`."""

    curl: str
    typescript: str
    python: str


class PlaygroundResult(msgspec.Struct, frozen=True, rename="camel"):
    """A response of the live release or of a draft.

    Attributes:
        draft: the branch of the draft; empty for live.
        commit: the commit that has answered.
        target: path and query of the request, without secrets.
        size_bytes: of the body, as far as it was read.
        headers: pairs, since a name may occur several times.
        body: the text of the body; empty if it is not text.
        base64: the body, if it is not text.
        is_cut: the body is longer than 256 KB, or took longer than 30 s.
        failure, step: of a failed request: the error, and its file and line.
        snippets: the request to copy.
        trace: its steps, statements and outgoing requests, in the order in which they began.
        user: the id of the signed-in user, as the token says; empty without one.
    """

    draft: str
    commit: str
    method: str
    target: str
    status: int
    milliseconds: float
    size_bytes: int
    headers: list[tuple[str, str]]
    content_type: str
    body: str
    base64: str
    is_cut: bool
    failure: str
    step: str
    snippets: Snippets
    trace: list[TraceSpan] = []
    user: str = ""

    @property
    def phrase(self) -> str:
        """The reason phrase of the status, such as `Created`."""
        return HTTPStatus(self.status).phrase if self.status in set(HTTPStatus) else ""

    @property
    def pretty(self) -> str:
        """The body to show: JSON is indented, other texts stay."""
        if _JSON not in self.content_type:
            return self.body
        try:
            return json.dumps(json.loads(self.body), indent=2, ensure_ascii=False)
        except (ValueError, RecursionError):
            return self.body


class TraceSpan(msgspec.Struct, frozen=True, rename="camel"):
    """A step, a statement or an outgoing request, see `bbops.runtime.flow.tracing.Span`.

    Attributes:
        depth: the number of spans around it.
        rows: the rows that a statement returned or changed; null if it has none.
    """

    kind: SpanKind
    place: str
    depth: int
    began_ms: float
    took_ms: float
    detail: str
    rows: int | None


class ResponseDifference(msgspec.Struct, frozen=True):
    """A place where two responses differ: a JSON pointer, or `status`."""

    at: str
    live: str
    draft: str


class ComparedResponses(msgspec.Struct, frozen=True):
    """The responses of live and of a draft to the same request."""

    live: PlaygroundResult
    draft: PlaygroundResult
    differences: list[ResponseDifference]


def write_result(
    exchanged: Exchanged, request: OutgoingRequest, credential: Credential | None, *,
    draft: str, url: str,
) -> PlaygroundResult:  # fmt: skip
    """Return the result of a request.

    Args:
        request: without its credential.
        credential: of the request; only its place is shown.
        draft: the branch; empty for live.
        url: the URL of the API, for the snippets.
    """
    shown, reply = without_secrets(request, credential), exchanged.reply
    if draft:
        shown = replace(shown, headers=(*shown.headers, DRAFT_HEADER))
    base, kind = url.rstrip("/"), _content_type(reply)
    text, base64 = _read(reply.body, is_cut=reply.is_cut)
    return PlaygroundResult(
        draft, exchanged.commit, request.method, shown.target, reply.status,
        exchanged.milliseconds, len(reply.body), list(reply.headers), kind, text, base64,
        reply.is_cut, exchanged.failure, exchanged.step,
        Snippets(write_curl(shown, base), write_typescript(shown, base), write_python(shown, base)),
        [TraceSpan(*span) for span in exchanged.spans],
        exchanged.user or _read_user(credential),
    )  # fmt: skip


def _read_user(credential: Credential | None) -> str:
    is_token = credential is not None and credential.key.lower() == "authorization"
    return read_subject(credential.value) if credential is not None and is_token else ""


def find_differences(live: Reply, draft: Reply) -> list[ResponseDifference]:
    """Return the differences of two responses; secrets are masked in both."""
    digest = sha256(live.body[: MOST_READ_BYTES + 1]).hexdigest()[:16]
    before = Recorded("GET", "", {}, "", live.status, _mask(live.body), digest)
    found = compare(before, Sent(draft.status, draft.body))
    return [ResponseDifference(item.at, item.before, item.now) for item in found]


def _mask(body: bytes) -> str:
    try:
        value: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return mask_text(body.decode(errors="replace"))
    return msgspec.json.encode(mask_value(value)).decode()


def _read(body: bytes, *, is_cut: bool) -> tuple[str, str]:
    """Return the body as text, or as base64 if it is not UTF-8."""
    whole = body
    if is_cut:  # the last character may be cut, too
        whole = body.decode(errors="ignore").encode() if _is_text_so_far(body) else body
    try:
        text = whole.decode()
    except UnicodeDecodeError:
        return "", b64encode(body).decode()
    return ("", b64encode(body).decode()) if "\0" in text else (text, "")


def _is_text_so_far(body: bytes) -> bool:
    longest = 4
    return any(_is_utf8(body[: len(body) - left]) for left in range(longest))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _content_type(reply: Reply) -> str:
    return next((value for name, value in reply.headers if name == "content-type"), "")
