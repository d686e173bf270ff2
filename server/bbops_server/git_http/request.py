"""Read what a git client asks for: one of three addresses below `/git/NAME.git`, and no other."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal, get_args

Service = Literal["git-upload-pack", "git-receive-pack"]
SERVICES: Final[tuple[Service, ...]] = get_args(Service)

_ADDRESS: Final = re.compile(
    r"/git/(?P<project>[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99})\.git/(?P<verb>info/refs|git-[a-z-]+)"
)
"""Of the path as it was sent: nothing in it is decoded, so nothing can lead elsewhere."""

_QUERIES: Final = {f"service={one}".encode(): one for one in SERVICES}
_PROTOCOL: Final = re.compile(r"version=[0-2]")
_NOTHING: Final = "repository not found"
_DUMB: Final = "this server speaks git's smart protocol only; use git 1.6.6 or newer"


class Refusal(Exception):
    """Why a request is answered otherwise; git shows the text, but not to a body it has sent."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.message = HTTPStatus(status), message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True, slots=True)
class GitRequest:
    """One request of a git client.

    Attributes:
        is_greeting: it asks which refs there are; the exchange itself follows.
        variables: what git's own program has to know of it, as CGI names it.
        is_packed: its body is gzip, of which git's program hears nothing.
    """

    project: str
    service: Service
    is_greeting: bool
    variables: dict[str, str]
    is_packed: bool = False

    @property
    def is_push(self) -> bool:
        """Whether it is about a push."""
        return self.service == "git-receive-pack"


def read_request(scope: Any) -> GitRequest:
    """Return what a request asks for.

    Raises:
        Refusal: it is none of git's smart protocol.
    """
    found = _ADDRESS.fullmatch(scope["raw_path"].decode("latin-1"))
    if found is None:
        raise Refusal(404, _NOTHING)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    project, verb = found["project"], found["verb"]
    if verb == "info/refs":
        return _read_greeting(project, scope, headers)
    service = next((one for one in SERVICES if one == verb), None)
    if service is None:
        raise Refusal(404, _NOTHING)
    if scope["method"] != "POST":
        raise Refusal(405, f"'{service}' needs POST", allow="POST")
    if headers.get("content-type") != f"application/x-{service}-request":
        raise Refusal(415, f"expected the content type 'application/x-{service}-request'")
    is_packed = _is_packed(headers)
    variables = _variables(service, headers, is_packed=is_packed)
    return GitRequest(project, service, is_greeting=False, variables=variables, is_packed=is_packed)


def _read_greeting(project: str, scope: Any, headers: Mapping[str, str]) -> GitRequest:
    service = _QUERIES.get(scope["query_string"])
    if service is None:
        raise Refusal(403, _DUMB)
    if scope["method"] != "GET":
        raise Refusal(405, "refs need GET", allow="GET")
    more = {
        "PATH_INFO": "/info/refs", "REQUEST_METHOD": "GET", "QUERY_STRING": f"service={service}",
    }  # fmt: skip
    return GitRequest(project, service, is_greeting=True, variables=_protocol(headers) | more)


def _is_packed(headers: Mapping[str, str]) -> bool:
    if "content-encoding" not in headers:
        return False
    if headers["content-encoding"] not in {"gzip", "x-gzip"}:
        raise Refusal(415, "expected a body that is plain or gzip")
    return True


def _variables(
    service: Service, headers: Mapping[str, str], *, is_packed: bool
) -> dict[str, str]:  # fmt: skip
    values = {
        "PATH_INFO": f"/{service}", "REQUEST_METHOD": "POST",
        "CONTENT_TYPE": f"application/x-{service}-request",
    }  # fmt: skip
    if "content-length" in headers and not is_packed:  # without one, git reads to the end
        values["CONTENT_LENGTH"] = headers["content-length"]
    return values | _protocol(headers)


def _protocol(headers: Mapping[str, str]) -> dict[str, str]:
    given = headers.get("git-protocol", "")
    return {"GIT_PROTOCOL": given} if _PROTOCOL.fullmatch(given) else {}


# ---- Unpack what a git client sends as gzip, within bounds: git itself bounds only what is packed

_PIECE: Final = 1 << 18
_GZIP: Final = zlib.MAX_WBITS | 16


class Unpacking:
    """The body of one request; `most_bytes` of it are taken once it is unpacked."""

    def __init__(self, most_bytes: int) -> None:
        self._gzip, self._most, self._size = zlib.decompressobj(_GZIP), most_bytes, 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what a part of the body holds, in pieces.

        Raises:
            Refusal: it is not gzip, or too much.
        """
        while data:
            try:
                piece = self._gzip.decompress(data, _PIECE)
            except zlib.error:
                raise Refusal(400, "the body is not valid gzip, as Content-Encoding says") from None
            data = self._gzip.unconsumed_tail
            self._size += len(piece)
            if self._size > self._most:
                most = f"{self._most >> 20} MiB"
                raise Refusal(413, f"a request may have at most {most} once it is unpacked")
            yield piece
