"""Keep secrets out of what is recorded of a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

MASK: Final = "***"

_SHORTEST: Final = 8
"""A shorter env value may stand in a path by chance."""
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_SECRET_WORDS: Final = frozenset(
    {"token", "key", "apikey", "secret", "password", "passwd", "passphrase"}
)
_SECRET_NAMES: Final = frozenset({
    "authorization", "cookie", "csrf", "otp", "pin", "credential", "credentials", "signature",
    "jwt", "pwd", "cvc", "cvv", "iban", "ssn",
})  # fmt: skip
"""More words of names, of values that are kept whole where a path would not be."""
_LIKE_SECRETS: Final = re.compile(
    r"eyJ[\w-]+\.[\w-]+\.[\w-]*"  # a JWT
    r"|\b(?:rt|bk|sk|pk|rk|ghp|gho|xox[abeprs]|xapp)[_-][A-Za-z0-9_-]{16,}"
    r"|\b(?:gh[usr]|github_pat|shp(?:at|ca|pa|ss)|ntn|whsec|sb_secret)_[A-Za-z0-9_-]{16,}"
    r"|\bpat-[a-z]{2}\d-[A-Za-z0-9-]{16,}"  # keys that begin with their kind
    r"|\bSG\.[\w-]{16,}\.[\w-]{16,}"  # of SendGrid
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"  # of AWS
    r"|(?<=/webhooks/)\d{15,22}/[\w-]{20,}|(?<=hooks\.slack\.com/)[\w/-]{20,}"  # addresses
    r"|\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}"  # bcrypt
    r"|(?i:\b(?:bearer|basic)\s+[\w.~+/=-]{8,})"
)
_MOST_DEEP: Final = 64


def is_secret(parameter: str) -> bool:
    """Return whether a path parameter is named like a secret: `token`, `resetToken`, `api_key`."""
    return any(word.lower() in _SECRET_WORDS for word in _WORD.findall(parameter))


def is_hidden(name: str) -> bool:
    """Return whether the value of a field, a query or a header of this name is a secret."""
    words = {word.lower() for word in _WORD.findall(name)}
    return not words.isdisjoint(_SECRET_WORDS) or not words.isdisjoint(_SECRET_NAMES)


def mask_text(text: str) -> str:
    """Return a text without what looks like a secret wherever it stands."""
    return _LIKE_SECRETS.sub(MASK, text)


def mask_value(
    value: Any, hidden: Callable[[str], bool] = is_hidden,
    text: Callable[[str], str] = mask_text, depth: int = 0,
) -> Any:  # fmt: skip
    """Return a value of JSON without the fields that `hidden` names, its texts as `text` gives."""
    if depth > _MOST_DEEP:
        return MASK
    if type(value) is dict:
        return {
            name: MASK if one is not None and hidden(name)
            else mask_value(one, hidden, text, depth + 1)
            for name, one in value.items()
        }  # fmt: skip
    if type(value) is list:
        return [mask_value(one, hidden, text, depth + 1) for one in value]
    return text(value) if type(value) is str else value


class Mask:
    """Masks parameters that are named like secrets, and the values of secret env variables.

    Made once per release; a route without such a parameter costs a look-up and a comparison.
    """

    __slots__ = ("_private", "_routes", "_secrets", "_shortest")

    def __init__(self, secrets: Iterable[str | None] = (), private: Iterable[str] = ()) -> None:
        """Take the secret values there are, and names of private columns; `add` takes routes."""
        self._private = frozenset(private)
        self._routes: dict[str, list[str]] = {}
        self._secrets = sorted({one for one in secrets if one and len(one) >= _SHORTEST})
        self._shortest = min(map(len, self._secrets), default=1 << 30)

    def add(self, route: str) -> None:
        """Take a route of the release."""
        parts = route.split("/")
        if any(map(_hides, parts)):
            self._routes[route] = parts

    def value(self, value: Any) -> Any:
        """Return a value of JSON as it may be written down."""
        return mask_value(value, self.hides, self.text)

    def hides(self, name: str) -> bool:
        """Return whether what is called so is not written down."""
        return name in self._private or is_hidden(name)

    def text(self, text: str) -> str:
        """Return a text as it may be written down."""
        return mask_text(self._without_secrets(text))

    def answer(self, value: Any) -> Any:
        """Return a value for a user, without the values of secret env variables."""
        return mask_value(value, lambda _: False, self._without_secrets)

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets if len(text) >= self._shortest else ():
            text = text.replace(secret, MASK)
        return text

    def __call__(self, route: str, scope: Any) -> str:
        """Return the path of a request as it may be written down; `route` is empty for none."""
        path: str = scope["path"]
        if route in self._routes:
            path = _masked(scope, self._routes[route])
        elif not route:
            path = self._mask_unmatched(scope)
        if len(path) > self._shortest:
            for secret in self._secrets:
                path = path.replace(secret, MASK)
        return path

    def _mask_unmatched(self, scope: Any) -> str:
        """Mask what would be a secret if the method, or the slash at the end, were another."""
        given = _given(scope)
        for parts in self._routes.values():
            if len(given) in {len(parts), len(parts) + 1} and all(
                part.startswith(":") or part == one for part, one in zip(parts, given, strict=False)
            ):
                return _masked(scope, parts)
        path: str = scope["path"]
        return path


def _hides(part: str) -> bool:
    return part.startswith(":") and is_secret(part[1:])


def _given(scope: Any) -> list[str]:
    # undecoded: a `%2F` inside a parameter ends no segment
    raw = scope.get("raw_path") or scope["path"].encode()
    return str(raw.decode("latin-1")).split("/")


def _masked(scope: Any, parts: list[str]) -> str:
    given = _given(scope)
    wanted = [*parts, *[""] * len(given)]
    return "/".join(MASK if _hides(part) else one for part, one in zip(wanted, given, strict=False))
