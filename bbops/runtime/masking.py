"""Keep secrets out of what is recorded of a request's path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

MASK: Final = "***"

_SHORTEST: Final = 8
"""A shorter env value may stand in a path by chance."""
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_SECRET_WORDS: Final = frozenset(
    {"token", "key", "apikey", "secret", "password", "passwd", "passphrase"}
)


def is_secret(parameter: str) -> bool:
    """Return whether a path parameter is named like a secret: `token`, `resetToken`, `api_key`."""
    return any(word.lower() in _SECRET_WORDS for word in _WORD.findall(parameter))


class Mask:
    """Masks parameters that are named like secrets, and the values of secret env variables.

    Made once per release; a route without such a parameter costs a look-up and a comparison.
    """

    __slots__ = ("_routes", "_secrets", "_shortest")

    def __init__(self, secrets: Iterable[str | None] = ()) -> None:
        """Take the secret values there are; `add` takes the routes."""
        self._routes: dict[str, list[str]] = {}
        self._secrets = sorted({one for one in secrets if one and len(one) >= _SHORTEST})
        self._shortest = min(map(len, self._secrets), default=1 << 30)

    def add(self, route: str) -> None:
        """Take a route of the release."""
        parts = route.split("/")
        if any(map(_hides, parts)):
            self._routes[route] = parts

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
