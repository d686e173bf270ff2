"""Checks of addresses in `server.yaml`."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic_core import PydanticCustomError

from bbops.base.addresses import split
from bbops_server.settings import is_loopback


def wrong_value(message: str, hint: str = "") -> PydanticCustomError:
    """Return the error for a value, which the loader reports at its line."""
    return PydanticCustomError("bad_value", "{message}", {"message": message, "hint": hint})


def check_url(text: str) -> str:
    """Return an http or https URL without a trailing slash.

    Raises:
        PydanticCustomError: it is not a URL, or has a user, a query or a fragment.
    """
    parts = split(text)
    is_odd = parts and (parts.username or parts.query or parts.fragment)
    if parts is None or is_odd or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise wrong_value(f"expected an address, got '{text}'", "such as https://api.example.com")
    return text.rstrip("/")


def check_issuer(text: str) -> str:
    """Return an issuer unchanged, because tokens repeat it exactly. Raises as `check_url`."""
    parts = urlsplit(check_url(text))
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise wrong_value(
            f"expected an https URL, got '{text}'", "the connection must be encrypted"
        )
    return text
