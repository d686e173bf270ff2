"""What lets somebody into a draft: a token that says who and until when, signed for it alone.

Pure: the control plane makes them, a data-plane process checks them, and neither remembers any.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Collection, Mapping
from typing import Final

PREFIX: Final = "bbd_"
_FORM: Final = re.compile(r"bbd_(([0-9a-f]{1,12})_([0-9a-f]{16})?)_([A-Za-z0-9_-]{43})").fullmatch

Marks = Mapping[str, Collection[str]]
"""The marks of all members, by project; those of the whole workspace under an empty name."""


def mark_of(person: str) -> str:
    """Return what stands for somebody in a token, by the id of their account."""
    return hashlib.sha256(person.encode()).hexdigest()[:16] if person else ""


def derive_key(server_key: bytes, draft: str, branch: str) -> bytes:
    """Return the key of one draft: who has it knows nothing of another's."""
    return hmac.digest(server_key, f"{draft}\0{branch}".encode(), "sha256")


def make_token(key: bytes, expires_at: float, mark: str = "") -> str:
    """Return a token that is good until `expires_at`, in seconds since 1970.

    Args:
        mark: of the person it is for; empty for the server itself and its owner.
    """
    said = f"{int(expires_at):x}_{mark}"
    return f"{PREFIX}{said}_{_sign(key, said)}"


def find_mark(token: str, key: bytes, now: float) -> str | None:
    """Return the mark in a token that was made with this key and has not expired, else None.

    Constant time. Whether that person may still see the draft is another question.
    """
    found = _FORM(token)
    if found is None or not hmac.compare_digest(_sign(key, found[1]), found[4]):
        return None
    return (found[3] or "") if int(found[2], 16) > now else None


def _sign(key: bytes, said: str) -> str:
    return urlsafe_b64encode(hmac.digest(key, said.encode(), "sha256")).decode().rstrip("=")


# ---- Keep the cookies of a draft and those of the live project apart: both answer on one host
# A draft is code that nobody has reviewed: it shall not see who is signed in to what is live. Its
# cookies bear a prefix in the browser, go to its paths alone, and lose the prefix on their way in.

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
