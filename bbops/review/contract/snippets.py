"""A request as curl, TypeScript and Python, to copy.

Credentials are the variables `TOKEN` and `DRAFT_TOKEN`; only in the URL and in headers.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import msgspec

from bbops.review.contract.form_requests import Credential, OutgoingRequest, with_credential
from bbops.runtime.flow.masking import MASK, is_hidden, mask_text, mask_value

TOKEN: Final = "$TOKEN"  # noqa: S105 - the name of a variable
DRAFT_HEADER: Final = ("x-draft-token", "$DRAFT_TOKEN")
"""The header of requests to a draft."""
_VARIABLE: Final = re.compile(r"\$(TOKEN|DRAFT_TOKEN)\b")
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
    yield f"curl{method} {_shell(url + _target(request))}"
    for name, value in _headers(request):
        yield f"-H {_shell(f'{name}: {value}' if value else f'{name};')}"
    for part in request.parts:
        if part.file is None:
            yield f"--form-string {shlex.quote(f'{part.name}={part.content.decode()}')}"
        else:
            file = part.file.replace("\\", "\\\\").replace('"', '\\"')
            yield "-F " + shlex.quote(f'{part.name}=@"{file}"')
    if request.body and not request.parts:
        yield f"--data-raw {shlex.quote(request.body.decode(errors='replace'))}"


def _shell(text: str) -> str:
    """Return a quoted argument in which the shell replaces the variables."""
    return "".join(_write(text, shlex.quote, lambda name: f'"${name}"')) or "''"


# ---- TypeScript
def write_typescript(request: OutgoingRequest, url: str) -> str:
    """Return a call of `fetch`. Arguments as `write_curl`."""
    lines = [f"  method: {json.dumps(request.method)},"]
    headers = [f"    {json.dumps(name)}: {_js(value)}," for name, value in _headers(request)]
    if headers:
        lines += ["  headers: {", *headers, "  },"]
    if request.parts:
        lines.append("  body: form,")
    elif request.body:
        lines.append(f"  body: {json.dumps(request.body.decode(errors='replace'))},")
    call = [f"const response = await fetch({_js(url + _target(request))}, {{", *lines, "});"]
    shown = ["console.log(response.status, await response.text());"]
    return "\n".join([*_js_form(request), *call, *shown])


def _js_form(request: OutgoingRequest) -> Iterator[str]:
    if request.parts:
        yield "const form = new FormData();"
    for part in request.parts:
        if part.file is None:
            value = json.dumps(part.content.decode())
        else:
            value = f"new File([], {json.dumps(part.file)})"  # its content is not known here
        yield f"form.append({json.dumps(part.name)}, {value});"


def _js(text: str) -> str:
    return " + ".join(_write(text, json.dumps, lambda name: f"process.env.{name}")) or '""'


# ---- Python
def write_python(request: OutgoingRequest, url: str) -> str:
    """Return a request with httpx. Arguments as `write_curl`."""
    target, headers = _py(url + _target(request)), list(_headers(request))
    lines = ["response = httpx.request(", f"    {request.method!r},", f"    {target},"]
    if headers:
        lines += ["    headers={"]
        lines += [f"        {name!a}: {_py(value)}," for name, value in headers]
        lines += ["    },"]
    lines += [*_py_body(request), ")", "print(response.status_code, response.text)"]
    imports = ["import os", ""] if any("os.environ[" in line for line in lines) else []
    return "\n".join([*imports, "import httpx", "", *lines])


def _py_body(request: OutgoingRequest) -> Iterator[str]:
    if request.parts:
        yield "    files=["
        for part in request.parts:
            file = f"open({part.file!a}, 'rb')" if part.file else f"(None, {part.content!r})"
            yield f"        ({part.name!a}, {file}),"
        yield "    ],"
    elif request.body:
        yield f"    content={request.body.decode(errors='replace')!a}.encode(),"


def _py(text: str) -> str:
    return " + ".join(_write(text, ascii, lambda name: f'os.environ["{name}"]')) or "''"


# ---- shared
def _write(
    text: str, literal: Callable[[str], str], variable: Callable[[str], str]
) -> Iterator[str]:
    """Yield the literals and variables of a text, in their order."""
    for number, piece in enumerate(_VARIABLE.split(text)):
        if number % 2:
            yield variable(piece)
        elif piece:
            yield literal(piece)


def _target(request: OutgoingRequest) -> str:
    return request.target.replace("%24TOKEN", TOKEN)


def _headers(request: OutgoingRequest) -> Iterator[tuple[str, str]]:
    """Yield the headers to write; clients make the content type of a form themselves."""
    names = dict.fromkeys(name for name, _ in request.headers)
    for name in names:
        if not (request.parts and name == "content-type"):
            yield name, ", ".join(value for key, value in request.headers if key == name)
