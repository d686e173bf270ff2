"""A request as curl, TypeScript and Python, to copy; credentials are a variable `TOKEN`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import msgspec

from bbops.review.contract.form_requests import Credential, OutgoingRequest, with_credential
from bbops.runtime.flow.masking import MASK, is_hidden, mask_text, mask_value

TOKEN: Final = "$TOKEN"  # noqa: S105 - the name of a variable
_SAFE: Final = frozenset({"GET", "HEAD"})


def without_secrets(request: OutgoingRequest, credential: Credential | None) -> OutgoingRequest:
    """Return the request to show: its credential is `$TOKEN`, other secrets are masked."""
    shown = replace(
        request,
        headers=tuple((name, _mask(name, value)) for name, value in request.headers),
        query=tuple((name, _mask(name, value)) for name, value in request.query),
        body=mask_body(request.body).encode(errors="replace") if not request.parts else b"",
        parts=tuple(
            replace(part, content=_mask(part.name, part.content.decode(errors="replace")).encode())
            if part.file is None else replace(part, content=b"") for part in request.parts
        ),
    )  # fmt: skip
    if credential is None:
        return shown
    scheme, _, rest = credential.value.rpartition(" ")
    value = f"{scheme} {TOKEN}" if scheme and rest and credential.place == "header" else TOKEN
    return with_credential(shown, replace(credential, value=value))


def mask_body(body: bytes) -> str:
    """Return a body as text without its secrets."""
    text = body.decode(errors="replace")
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return mask_text(text)
    masked = mask_value(value)
    return text if masked == value else json.dumps(masked, ensure_ascii=False)


def _mask(name: str, value: str) -> str:
    return MASK if is_hidden(name) else mask_text(value)


# ---- curl
def write_curl(request: OutgoingRequest, url: str) -> str:
    """Return a command for POSIX shells.

    Args:
        request: from `without_secrets`.
        url: the URL of the API, without a slash at its end.
    """
    return " \\\n  ".join(_curl_lines(request, url))


def _curl_lines(request: OutgoingRequest, url: str) -> Iterator[str]:
    method = "" if request.method in _SAFE else f" -X {request.method}"
    yield f"curl{method} {_quote(url + _target(request))}"
    for name, value in _headers(request):
        yield f"-H {_quote(f'{name}: {value}' if value else f'{name};')}"
    for part in request.parts:
        if part.file is None:
            yield f"--form-string {_quote(f'{part.name}={part.content.decode()}')}"
        else:
            file = part.file.replace("\\", "\\\\").replace('"', '\\"')
            yield "-F " + _quote(f'{part.name}=@"{file}"')
    if request.body and not request.parts:
        yield f"--data-raw {_quote(request.body.decode(errors='replace'))}"


def _quote(text: str) -> str:
    """Return an argument in quotes; only `$TOKEN` is expanded by the shell."""
    if TOKEN not in text:
        return shlex.quote(text)
    return '"$TOKEN"'.join(shlex.quote(part) if part else "" for part in text.split(TOKEN))


# ---- TypeScript
def write_typescript(request: OutgoingRequest, url: str) -> str:
    """Return a call of `fetch`. Arguments as `write_curl`."""
    lines = [f"  method: {_js(request.method)},"]
    headers = [f"    {_js(name)}: {_js(value)}," for name, value in _headers(request)]
    if headers:
        lines += ["  headers: {", *headers, "  },"]
    if request.parts:
        lines.append("  body: form,")
    elif request.body:
        lines.append(f"  body: {_js(request.body.decode(errors='replace'))},")
    call = [f"const response = await fetch({_js(url + _target(request))}, {{", *lines, "});"]
    shown = ["console.log(response.status, await response.text());"]
    return "\n".join([*_js_form(request), *call, *shown])


def _js_form(request: OutgoingRequest) -> Iterator[str]:
    if request.parts:
        yield "const form = new FormData();"
    for part in request.parts:
        value = f"file /* {_comment(part.file)} */" if part.file else _js(part.content.decode())
        yield f"form.append({_js(part.name)}, {value});"


def _comment(text: str) -> str:
    return json.dumps(text).replace("*/", "* /")


def _js(text: str) -> str:
    literal = json.dumps(text)  # ASCII: line separators of Unicode are escaped
    return literal.replace(TOKEN, '" + process.env.TOKEN + "').removesuffix(' + ""')


# ---- Python
def write_python(request: OutgoingRequest, url: str) -> str:
    """Return a request with httpx. Arguments as `write_curl`."""
    lines = ["import httpx", ""]
    if TOKEN in repr(request):
        lines = ["import os", "", *lines]
    arguments = [_py(request.method), _py(url + _target(request))]
    headers = [f"        {_py(name)}: {_py(value)}," for name, value in _headers(request)]
    lines += ["response = httpx.request(", *(f"    {argument}," for argument in arguments)]
    lines += ["    headers={", *headers, "    },"] if headers else []
    lines += _py_body(request)
    return "\n".join([*lines, ")", "print(response.status_code, response.text)"])


def _py_body(request: OutgoingRequest) -> Iterator[str]:
    if request.parts:
        yield "    files=["
        for part in request.parts:
            value = f"open({part.file!a}, 'rb')" if part.file else f"(None, {part.content!r})"
            yield f"        ({_py(part.name)}, {value}),"
        yield "    ],"
    elif request.body:
        yield f"    content={_py(request.body.decode(errors='replace'))}.encode(),"


def _py(text: str) -> str:
    if TOKEN not in text:
        return ascii(text)
    return " + ".join(
        piece
        for piece in _interleave([ascii(part) if part else "" for part in text.split(TOKEN)])
        if piece
    )


def _interleave(parts: list[str]) -> Iterator[str]:
    for number, part in enumerate(parts):
        yield 'os.environ["TOKEN"]' if number else ""
        yield part


# ---- shared
def _target(request: OutgoingRequest) -> str:
    return request.target.replace("%24TOKEN", TOKEN)


def _headers(request: OutgoingRequest) -> Iterator[tuple[str, str]]:
    """Yield the headers to write; clients make the content type of a form themselves."""
    for name, value in request.headers:
        if not (request.parts and name == "content-type"):
            yield name, value
