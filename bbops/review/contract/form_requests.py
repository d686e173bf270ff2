"""A filled form as a request, also with files (multipart/form-data, RFC 7578)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, Literal
from urllib.parse import quote, urlencode

from bbops.base.errors import BbopsError
from bbops.review.contract.contract import Operation
from bbops.review.contract.form_fields import JSON, FormField, RequestForm

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?").fullmatch
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}").fullmatch
_HEADER_VALUE: Final = re.compile(r"[\x20-\x7e\xa0-\xff\t]{0,8000}").fullmatch
_PARAMETER: Final = re.compile(r"\{([^{}/]+)\}")
MAX_TARGET: Final = 16_000
"""Characters of path and query."""
MAX_HEADERS: Final = 50
RESERVED_HEADERS: Final = frozenset({
    "host", "connection", "content-length", "transfer-encoding", "x-draft-token", "upgrade", "te",
    "expect", "proxy-authorization", "proxy-connection", "x-forwarded-for", "x-forwarded-proto",
    "forwarded", "keep-alive", "trailer", "accept-encoding", "x-bbops-sender",
})  # fmt: skip
"""Headers of the connection, and of the server that sends the request."""

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class FilledForm:
    """The values of a form.

    Attributes:
        values: texts by the name of the field.
        empty: the names of fields that are sent without text.
        body: a whole body that replaces the fields of the body; None for the fields.
        query, headers: pairs beside the fields.
    """

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    empty: frozenset[str] = frozenset()
    body: str | None = None
    query: Pairs = ()
    headers: Pairs = ()
    files: tuple[FormPart, ...] = ()


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request to an endpoint, without its server and without credentials.

    Attributes:
        path: percent-encoded.
        headers: names in lower case; with a `content-type` if there is a body.
        parts: the parts of a multipart body.
    """

    method: str
    path: str
    query: Pairs = ()
    headers: Pairs = ()
    body: bytes = b""
    parts: tuple[FormPart, ...] = ()

    @property
    def target(self) -> str:
        """Path and query."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential of one request.

    Attributes:
        place: the part of the request that carries it.
        key: the name of the header, query field or cookie.
        value: the value, with the scheme of an authorization header.
    """

    place: Literal["header", "query", "cookie"]
    key: str
    value: str = field(repr=False)


def fill_form(operation: Operation, form: RequestForm, filled: FilledForm) -> OutgoingRequest:
    """Return the request of a filled form.

    Raises:
        BbopsError: a path parameter is empty, a header is invalid, or the address is too long.
    """
    path = _fill_path(operation.path, form, filled)
    query = (*_pairs(form.of("query"), filled), *filled.query)
    headers = _check_headers((*_pairs(form.of("header"), filled), *filled.headers))
    request = OutgoingRequest(operation.method, path, query, headers)
    if len(request.target) > MAX_TARGET:
        raise BbopsError(
            f"path and query have {len(request.target):,} characters, at most {MAX_TARGET:,} are"
            " allowed", hint="shorten a path or query field",
        )  # fmt: skip
    return _with_body(request, form, filled)


def with_credential(request: OutgoingRequest, credential: Credential | None) -> OutgoingRequest:
    """Return the request with a credential; it replaces a typed header or query field.

    Raises:
        BbopsError: the credential cannot be in a header.
    """
    if credential is None:
        return request
    if credential.place == "query":
        others = tuple(pair for pair in request.query if pair[0] != credential.key)
        return replace(request, query=(*others, (credential.key, credential.value)))
    name = "cookie" if credential.place == "cookie" else credential.key.lower()
    text = f"{credential.key}={credential.value}" if name == "cookie" else credential.value
    if not _HEADER_VALUE(text):
        raise BbopsError(
            "the credential has a line break or a character that no header can carry",
            hint="copy it again, without blanks around it",
        )
    others = tuple(pair for pair in request.headers if pair[0] != name)
    return replace(request, headers=(*others, (name, text)))


def _fill_path(path: str, form: RequestForm, filled: FilledForm) -> str:
    names = {item.label: item.name for item in form.of("path")}

    def put(match: re.Match[str]) -> str:
        name = names.get(match[1], f"path:{match[1]}")
        texts = filled.values.get(name, ())
        if not texts or not texts[0]:
            raise BbopsError(
                f"path parameter '{match[1]}' is empty", hint=f"give '{match[1]}' a value"
            )
        return _segment(texts[0])

    parts = re.split(r"(\{[^{}/]+\})", path)
    return "".join(
        _PARAMETER.sub(put, part) if part[:1] == "{" else quote(part, safe="/~:@!$&'()*+,;=-._")
        for part in parts
    )


def _segment(text: str) -> str:
    """Return a path segment; `.` and `..` are encoded, so that they never change the path."""
    encoded = quote(text, safe="", errors="replace")
    return encoded.replace(".", "%2E") if not encoded.strip(".") else encoded


def _pairs(fields: Sequence[FormField], filled: FilledForm) -> Pairs:
    found = list[tuple[str, str]]()
    for item in fields:
        texts = filled.values.get(item.name, ())
        if item.widget == "lines":
            texts = [line.rstrip("\r") for text in texts for line in text.split("\n")]
        sent = [text for text in texts if text]
        sent = sent or ([""] if item.name in filled.empty else [])
        found += [(item.label, text) for text in sent]
    return tuple(found)


def _check_headers(pairs: Pairs) -> Pairs:
    headers = tuple((name.strip().lower(), value.strip(" \t")) for name, value in pairs)
    if len(headers) > MAX_HEADERS:
        raise BbopsError(f"at most {MAX_HEADERS} headers can be sent, not {len(headers)}")
    for name, value in headers:
        if not _HEADER_NAME(name):
            raise BbopsError(
                f"header name '{name[:50]!a}' is invalid", hint="use letters, digits and hyphens"
            )
        if name in RESERVED_HEADERS:
            raise BbopsError(f"header '{name}' cannot be sent", hint="leave it out")
        if not _HEADER_VALUE(value):
            raise BbopsError(f"header '{name}' has a line break or an invalid character")
    return headers


# ---- body
def _with_body(request: OutgoingRequest, form: RequestForm, filled: FilledForm) -> OutgoingRequest:
    if filled.body is not None:
        body, kind = filled.body.encode(errors="replace"), form.content_type or JSON
        kind = JSON if kind == FORM else kind
        return _typed(request, body, kind) if body else request
    if form.content_type == FORM:
        parts = (*_form_parts(form, filled), *filled.files)
        body, kind = encode_parts(parts)
        return replace(_typed(request, body, kind), parts=parts)
    body = write_body(form.of("body"), filled) if form.has_fields else b""
    return _typed(request, body, form.content_type) if body else request


def _typed(request: OutgoingRequest, body: bytes, content_type: str) -> OutgoingRequest:
    if any(name == "content-type" for name, _ in request.headers):
        return replace(request, body=body)
    return replace(request, body=body, headers=(*request.headers, ("content-type", content_type)))


def _form_parts(form: RequestForm, filled: FilledForm) -> tuple[FormPart, ...]:
    pairs = _pairs(form.of("body"), filled)
    return tuple(FormPart(name, value.encode(errors="replace")) for name, value in pairs)


def write_body(fields: Sequence[FormField], filled: FilledForm) -> bytes:
    """Return the JSON text of the filled fields; nested values stand in it as they were typed."""
    members = [
        f"{json.dumps(item.label, ensure_ascii=False)}: {text}"
        for item in fields
        if (text := _member(item, filled))
    ]
    return ("{" + ", ".join(members) + "}").encode(errors="replace")


def _member(item: FormField, filled: FilledForm) -> str:
    text = next(iter(filled.values.get(item.name, ())), "")
    if not text:
        return '""' if item.name in filled.empty else ""
    if item.widget == "json":
        return text
    is_bare = text in {"true", "false", "null"} or _NUMBER(text)
    return text if is_bare and not item.is_text else json.dumps(text, ensure_ascii=False)


# ---- Encode the parts of a form as multipart/form-data (RFC 7578)

FORM: Final = "multipart/form-data"
_OCTETS: Final = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class FormPart:
    """A field or a file of a form.

    Attributes:
        file: the name of the file; None for a field.
        content_type: of a file; empty if it is not known.
    """

    name: str
    content: bytes
    file: str | None = None
    content_type: str = ""


def encode_parts(parts: Sequence[FormPart]) -> tuple[bytes, str]:
    """Return the body and its content type; the boundary is a hash of the content."""
    boundary = sha256(b"\0".join(part.content for part in parts)).hexdigest()[:32]
    while any(boundary.encode() in part.content for part in parts):
        boundary = sha256(boundary.encode()).hexdigest()[:32]
    lines = b"".join(_head(part, boundary) + part.content + b"\r\n" for part in parts)
    return lines + f"--{boundary}--\r\n".encode(), f"{FORM}; boundary={boundary}"


def _head(part: FormPart, boundary: str) -> bytes:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_escape(part.name)}"'
    if part.file is not None:
        kind = part.content_type if _is_plain(part.content_type) else _OCTETS
        head += f'; filename="{_escape(part.file)}"\r\nContent-Type: {kind}'
    return f"{head}\r\n\r\n".encode(errors="replace")


def _escape(name: str) -> str:
    """Return a name as browsers escape it (HTML, multipart/form-data encoding algorithm)."""
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _is_plain(content_type: str) -> bool:
    return bool(content_type) and content_type.isascii() and content_type.isprintable()
