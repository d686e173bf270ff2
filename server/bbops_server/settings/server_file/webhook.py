"""The key `webhooks` of `server.yaml`, and checks of addresses."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from bbops.base.addresses import split
from bbops.base.model import Model
from bbops_server.settings import ATTEMPTED, Webhook, WebhookEvent, is_loopback


def _check_receiver(text: str) -> str:
    """Accept an address with an encrypted connection, or on this machine."""
    parts = split(text)
    if parts is None or not _is_guarded(parts) or parts.username is not None or parts.fragment:
        raise PydanticCustomError(
            "bad_value", "{message}",
            {"message": "expected an address of https, without a name or password in it",
             "hint": "such as https://chat.example.com/hooks/1;"
                     " http is allowed for localhost only"},
        )  # fmt: skip
    return text


def _is_guarded(parts: SplitResult) -> bool:
    """Return whether the connection is encrypted, or stays on this machine."""
    host = parts.hostname or ""
    return bool(host) and (
        parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    )


class WrittenWebhook(Model):
    """A receiver and its events; the secret is a value of the environment, or a stored one."""

    url: Annotated[str, AfterValidator(_check_receiver)]
    events: Annotated[list[WebhookEvent], Field(min_length=1)] = list(ATTEMPTED)
    secret_env: Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")]


def check_receivers(written: list[WrittenWebhook]) -> list[WrittenWebhook]:
    """Accept receivers with different addresses: each has one queue and one secret."""
    urls = [receiver.url for receiver in written]
    for at, url in enumerate(urls):
        if url in urls[:at]:
            raise PydanticCustomError(
                "bad_value", "{message}",
                {"message": f"receiver {at + 1} has the same URL as receiver {urls.index(url) + 1}",
                 "hint": "list all events of a URL in one entry"},
            )  # fmt: skip
    return written


def read_webhook(written: WrittenWebhook) -> Webhook:
    """Return the settings of a receiver."""
    return Webhook(written.url, frozenset(written.events), written.secret_env)


# ---- Checks of addresses in `server.yaml`


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
