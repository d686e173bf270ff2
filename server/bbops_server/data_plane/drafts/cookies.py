"""Keep the cookies of a draft and those of the live project apart: both answer on one host.

A draft is code that nobody has reviewed: it shall not see who is signed in to what is live. Its
cookies bear a prefix in the browser, go to its paths alone, and lose the prefix on their way in.
"""

from __future__ import annotations

from typing import Final

TOKEN: Final = "bbops-draft"  # noqa: S105 - the name of a cookie
_OWN: Final = f"{TOKEN}.".encode()

Headers = list[tuple[bytes, bytes]]


def read_token(headers: Headers) -> str:
    """Return the token among the cookies of a request; empty without one."""
    for name, value in _cookies(headers):
        if name == TOKEN.encode():
            return value.decode("latin-1")
    return ""


def only_own(headers: Headers) -> Headers:
    """Return a request's headers with no cookie but those that the draft has set itself."""
    kept = [
        name.removeprefix(_OWN) + b"=" + value
        for name, value in _cookies(headers)
        if name.startswith(_OWN)
    ]
    others = [one for one in headers if one[0] != b"cookie"]
    return [*others, (b"cookie", b"; ".join(kept))] if kept else others


def own_names(headers: Headers) -> set[bytes]:
    """Return the names of the draft's cookies that a browser already keeps."""
    return {name.removeprefix(_OWN) for name, _ in _cookies(headers) if name.startswith(_OWN)}


def as_own(value: bytes, prefix: bytes) -> bytes:
    """Return the value of a Set-Cookie header, for the paths below `prefix` alone."""
    pair, *attributes = [part.strip() for part in value.split(b";")]
    kept = [one for one in attributes if _word(one) not in {b"domain", b"path"}]
    return b"; ".join([_OWN + pair, *kept, b"Path=" + prefix + b"/"])


def token_cookie(token: str, prefix: str, *, seconds: int, is_secure: bool) -> str:
    """Return the Set-Cookie value that keeps a browser let in."""
    secure = "; Secure" if is_secure else ""
    return f"{TOKEN}={token}; Path={prefix}/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def _cookies(headers: Headers) -> list[tuple[bytes, bytes]]:
    found = []
    for name, value in headers:
        if name == b"cookie":
            for part in value.split(b";"):
                key, _, text = part.strip().partition(b"=")
                found.append((key, text))
    return found


def _word(attribute: bytes) -> bytes:
    return attribute.partition(b"=")[0].strip().lower()
