"""An OpenAPI document as data: its parts, its address and its authentication."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import msgspec

from bbops.base.errors import BbopsError
from bbops.base.model import plain
from bbops.source.yaml.document import MAX_BYTES as MOST_YAML_BYTES
from bbops.source.yaml.document import load as load_yaml

MOST_BYTES: Final = 20_000_000
MOST_HOPS: Final = 20
"""References behind each other."""
MOST_VERSION: Final = 100

_maps = msgspec.json.Decoder(dict[str, msgspec.Raw])
_any = msgspec.json.Decoder()


class Refused(BbopsError):
    """This document, or a part that was asked for, cannot become an addon."""


@dataclass(slots=True)
class Document:
    """A document whose parts are read when somebody asks for them.

    Attributes:
        digest: of its bytes.
        top: its keys, each as bytes of JSON or as a value.
    """

    digest: str
    top: Mapping[str, Any]
    _read: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @classmethod
    def read(cls, data: bytes) -> Document:
        """Return a document of JSON or YAML.

        Raises:
            Refused: it is too large, cannot be read, or is none of OpenAPI 3.0 to 3.2.
        """
        if len(data) > MOST_BYTES:
            raise Refused(f"the document has {len(data):,} bytes, expected at most {MOST_BYTES:,}")
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        is_json = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"
        found = cls(digest, _json(data) if is_json else _yaml(data))
        version = found.at(("openapi",))
        if not isinstance(version, str) or not version.startswith(("3.0", "3.1", "3.2")):
            is_old = "swagger" in found.top
            hint = "convert it first: Swagger 2 is not read" if is_old else ""
            told = str(version)[:20] if version is not None else "nothing"
            message = f"expected an OpenAPI document of version 3.0 to 3.2, got {told}"
            raise Refused(message, hint=hint)
        return found

    @property
    def version(self) -> str:
        """The version that it gives itself."""
        info = self.at(("info", "version"))
        return one_line(str(info), MOST_VERSION) if isinstance(info, str | int | float) else ""

    def keys(self, path: tuple[str, ...]) -> list[str]:
        """Return the keys of a map; none where there is no map."""
        found = self._open(path)
        return [*found] if isinstance(found, Mapping) else []

    def at(self, path: tuple[str, ...]) -> Any:
        """Return a part; None where there is none."""
        found = self._open(path)
        if not isinstance(found, Mapping) or not any(
            isinstance(one, msgspec.Raw) for one in found.values()
        ):
            return found
        return {name: self.at((*path, name)) for name in found}

    def _open(self, path: tuple[str, ...]) -> Any:
        """Return a part whose own parts may be unread."""
        if not path:
            return self.top
        if path in self._read:
            return self._read[path]
        above = self._open(path[:-1])
        found = _inside(above, path[-1])
        if isinstance(found, msgspec.Raw):
            found = _decoded(found, is_outer=len(path) < _LAZY)
        self._read[path] = found
        return found

    def follow(self, part: Any) -> tuple[Any, str]:
        """Return what a part refers to, and the last reference that led there.

        Raises:
            Refused: the reference leads out of the document, in a circle, or nowhere.
        """
        last = ""
        for _ in range(MOST_HOPS):
            if not (isinstance(part, Mapping) and isinstance(part.get("$ref"), str)):
                return part, last
            last = part["$ref"]
            part = self.at(_pointer(last))
            if part is None:
                raise Refused(f"'{one_line(last, 200)}' is referred to, and is not there")
        raise Refused(f"'{one_line(last, 200)}' refers to itself in a circle")


_LAZY: Final = 3
"""Depth above which maps are read name by name: `components`, `schemas`, then one whole schema."""


def _inside(above: Any, name: str) -> Any:
    if isinstance(above, Mapping):
        return above.get(name)
    if isinstance(above, list) and name.isascii() and name.isdigit() and int(name) < len(above):
        return above[int(name)]
    return None


def _pointer(reference: str) -> tuple[str, ...]:
    if not reference.startswith("#/"):
        message = f"'{one_line(reference, 200)}' is in another document"
        raise Refused(message, hint="bundle the documents into one first")
    parts = reference[2:].split("/")
    return tuple(one.replace("~1", "/").replace("~0", "~") for one in parts)


def _json(data: bytes) -> Mapping[str, Any]:
    try:
        return _maps.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(f"the document cannot be read as JSON: {one_line(str(error), 200)}") from None
    except RecursionError:
        raise Refused("the document cannot be read as JSON: it is nested too deeply") from None


def _decoded(raw: msgspec.Raw, *, is_outer: bool) -> Any:
    try:
        if is_outer and bytes(memoryview(raw)[:1]) == b"{":
            return _maps.decode(raw)
        return _any.decode(raw)
    except RecursionError:
        raise Refused("a part of the document is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(f"the document cannot be read as JSON: {one_line(str(error), 200)}") from None


def _yaml(data: bytes) -> Mapping[str, Any]:
    if len(data) > MOST_YAML_BYTES:
        message = f"a document of YAML has at most {MOST_YAML_BYTES:,} bytes, got {len(data):,}"
        raise Refused(message, hint="give it as JSON, which may have 20 MB")
    found = load_yaml(data)
    for one in found.problems:
        where = f"line {one.line}"
        hint = "OpenAPI in YAML is plain here; give it as JSON if it uses more of YAML"
        raise Refused(f"the document cannot be read as YAML: {where}: {one.message}", hint=hint)
    if not isinstance(found.root, dict):
        raise Refused("the document is not a map of keys, as JSON or YAML")
    whole: Mapping[str, Any] = plain(found.root)
    return whole


def one_line(text: str, most: int) -> str:
    """Return a text from outside as one line that may be shown: what cannot be printed is left out.

    Args:
        text: of the document.
        most: characters.
    """
    words = " ".join(text[: 4 * most].split())
    return "".join(char for char in words if char.isprintable())[:most].strip()


# ---- What an OpenAPI document says of an API as a whole: where it is, how it is told who asks

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+(/[^?#\s$]*)?").fullmatch
_HEADER: Final = re.compile(r"[A-Za-z0-9-]{1,100}").fullmatch
_TOKEN_URL: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+/[^?#\s@$]*").fullmatch
_RANK: Final = ("bearer", "clientCredentials", "header", "basic", "query")
"""A key in an address ends up in logs; a name and password are more than one token."""
Auth = dict[str, Any]


def find_server(document: Document, given: str, where: str) -> str:
    """Return where the API is.

    Args:
        given: what the user says; empty where the document is to say it.
        where: the address of the document, against which a relative one counts.

    Raises:
        Refused: nobody says it, or it is none that a step can ask.
    """
    servers = document.at(("servers",))
    first = servers[0] if isinstance(servers, list) and servers else {}
    told = given or (first.get("url") if isinstance(first, Mapping) else None) or ""
    if not isinstance(told, str):
        told = ""
    variables = first.get("variables") if isinstance(first, Mapping) and not given else {}
    told = _VARIABLE.sub(lambda match: _default(variables, match[1]), told)
    if not urlsplit_safe(told) and where.startswith(("https://", "http://")):
        told = urljoin(where, told)
    told = told.rstrip("/")
    if not told.startswith(("https://", "http://")):
        hint = "give it with --server https://api.example.com"
        raise Refused("the document does not say where the API is", hint=hint)
    if not _ADDRESS(told) or len(told) > 500:
        hint = "give it with --server https://api.example.com"
        raise Refused(f"'{one_line(told, 100)}' is not the address of an API", hint=hint)
    return told


def urlsplit_safe(text: str) -> bool:
    """Return whether a text begins with a scheme of its own."""
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return True


def _default(variables: Any, name: str) -> str:
    one = variables.get(name) if isinstance(variables, Mapping) else None
    found = one.get("default") if isinstance(one, Mapping) else None
    if not isinstance(found, str):
        hint = "give the whole address with --server"
        raise Refused(f"the address has '{{{one_line(name, 40)}}}' without a default", hint=hint)
    return found


def find_auth(document: Document) -> Auth:
    """Return the best way that an addon knows: of those that the document wants everywhere first.

    Empty where the API asks for nothing that can be said.
    """
    names = document.keys(("components", "securitySchemes"))[:100]
    wanted = document.at(("security",))
    first = [
        name for one in (wanted if isinstance(wanted, list) else ()) if isinstance(one, Mapping)
        for name in one
    ]  # fmt: skip
    for group in ([one for one in first if one in names], names):
        ways = [way for name in dict.fromkeys(group) if (way := _way(document, name))]
        if ways:
            return min(ways, key=lambda way: _RANK.index(next(iter(way))))
    return {}


def _way(document: Document, name: str) -> Auth:
    one, _ = document.follow(document.at(("components", "securitySchemes", name)))
    if not isinstance(one, Mapping):
        return {}
    kind, scheme = one.get("type"), str(one.get("scheme", "")).lower()
    if kind == "http" and scheme in {"bearer", "basic"}:
        return {"bearer": "token"} if scheme == "bearer" else {"basic": ["username", "password"]}
    if kind == "apiKey" and one.get("in") in {"header", "query"}:
        return _key(str(one["in"]), str(one.get("name", "")))
    if kind == "oauth2":
        flows = one.get("flows")
        told = flows.get("clientCredentials") if isinstance(flows, Mapping) else None
        url = told.get("tokenUrl") if isinstance(told, Mapping) else None
        if isinstance(url, str) and _TOKEN_URL(url):
            return {"clientCredentials": {"tokenUrl": url}}
        return {"bearer": "token"}
    return {"bearer": "token"} if kind == "openIdConnect" else {}


def _key(place: str, name: str) -> Auth:
    if place == "header" and name.lower() == "authorization":
        return {"bearer": "token"}
    is_right = _HEADER(name) if place == "header" else 0 < len(name) <= 100 and name.isprintable()
    return {place: {name: "apiKey"}} if is_right else {}


def settings_of(auth: Auth) -> list[str]:
    """Return the settings that a way needs."""
    if "clientCredentials" in auth:
        return ["clientId", "clientSecret"]
    (told,) = auth.values() if auth else ([],)
    if isinstance(told, str):
        return [told]
    return [*told.values()] if isinstance(told, dict) else [*told]
