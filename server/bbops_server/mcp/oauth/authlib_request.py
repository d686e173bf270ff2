"""Requests and responses in the form of Authlib."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl

from authlib.oauth2 import OAuth2Request
from authlib.oauth2.rfc6749.errors import InvalidRequestError
from authlib.oauth2.rfc6749.requests import OAuth2Payload

MOST_FIELDS: Final = 40
MOST_LENGTH: Final = 2_000
_SOMEWHERE: Final = "https://localhost/"
"""Authlib requires https, which the settings enforce."""

Pairs = Sequence[tuple[str, str]]


class _Payload(OAuth2Payload):
    def __init__(self, pairs: Pairs) -> None:
        self._data = dict(pairs)
        self._lists: defaultdict[str, list[str]] = defaultdict(list)
        for name, value in pairs:
            self._lists[name].append(value)

    @property
    def data(self) -> dict[str, str]:
        return self._data

    @property
    def datalist(self) -> defaultdict[str, list[str]]:
        return self._lists


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a request: the address for the log, and the network that attempts count for."""

    address: str = ""
    network: str = ""


class OAuthRequest(OAuth2Request):
    """A request, of a query or of a form."""

    def __init__(self, method: str, text: str, sender: Sender) -> None:
        """Raises: InvalidRequestError: the parameters are too many, too long, or not text."""
        super().__init__(method, _SOMEWHERE)
        self.payload, self.sender = _Payload(_read(text)), sender

    @property
    def form(self) -> dict[str, str]:
        """The parameters."""
        return self.payload.data

    args = form

    def get(self, name: str) -> str:
        """Return a parameter; empty if it is missing."""
        return self.payload.data.get(name, "")

    def check_single(self) -> None:
        """Refuse repeated parameters (RFC 6749, section 3.2).

        Raises:
            InvalidRequestError: a parameter is repeated.
        """
        lists = self.payload.datalist.items()
        if any(len(values) > 1 for name, values in lists if name != "resource"):
            raise InvalidRequestError("a parameter is given more than once")


@dataclass(slots=True)
class Answer:
    """A response: JSON, or a redirect to the client at `location`."""

    status: int
    body: Mapping[str, Any] | str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def location(self) -> str:
        """The address of a redirect; empty for JSON."""
        return self.headers.get("Location", "")


def _read(text: str) -> Pairs:
    try:
        pairs = parse_qsl(text, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise InvalidRequestError("there are too many parameters") from None
    for pair in pairs:
        if len("".join(pair)) > MOST_LENGTH or not all(map(str.isprintable, pair)):
            raise InvalidRequestError("a parameter is too long, or has invisible characters")
    return pairs
