"""Parts that requests to vendors are made of."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from bbops.runtime.values.failures import FlowError

MOST_SEGMENT = 200


def bearer(token: str) -> dict[str, str]:
    """Return the header of a token."""
    return {"authorization": f"Bearer {token}"}


def basic(name: str, secret: str) -> dict[str, str]:
    """Return the header of a name and its password."""
    return {"authorization": "Basic " + b64encode(f"{name}:{secret}".encode()).decode()}


def segment(value: Any, what: str) -> str:
    """Return one part of a path, in which nothing can reach another one.

    Args:
        value: a text or number.
        what: the parameter, for the message.

    Raises:
        FlowError: it is empty, `.` or `..`, or longer than any name.
    """
    text = str(value)
    if not text or text in {".", ".."} or len(text) > MOST_SEGMENT:
        raise FlowError(
            f"'{what}' must have 1 to {MOST_SEGMENT} characters, and not be '.' or '..'"
        )
    return quote(text, safe="")


def pick(given: Mapping[str, Any], *names: str, **renamed: str) -> dict[str, Any]:
    """Return the parameters that are given, of these names.

    Args:
        given: parameters by name.
        names: those that the vendor calls the same.
        renamed: the vendor's names of others.
    """
    wanted = {name: name for name in names} | renamed
    return {theirs: given[ours] for ours, theirs in wanted.items() if given.get(ours) is not None}


def escape_chat(text: str) -> str:
    """Return a text that is one in a chat's markup: no link, and it calls nobody.

    Source: https://docs.slack.dev/messaging/formatting-message-text, "Escaping text".
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def text_at(found: Any, *path: str | int) -> str | None:
    """Return a text inside of JSON; None where there is none."""
    for part in path:
        if isinstance(part, int):
            found = found[part] if isinstance(found, list) and len(found) > part else None
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return found if isinstance(found, str) and found else None


def with_options(ours: Mapping[str, Any], options: Any) -> dict[str, Any]:
    """Return a body with other parameters of the vendor's, which may not replace ours.

    Raises:
        FlowError: one of them would.
    """
    options = options or {}
    taken = sorted(ours.keys() & options.keys())
    if taken:
        raise FlowError(f"'options' may not hold '{taken[0]}': it is a parameter of the step")
    return {**ours, **options}
