"""The services at which users may sign in, and what each of them may be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

KindName = Literal["google", "github", "apple", "microsoft", "oidc"]
PATH: Final = "/~auth/"
"""Below it are the routes of all providers: `NAME`, and `NAME/callback`."""


@dataclass(frozen=True, slots=True)
class ProviderKind:
    """One kind of service.

    Attributes:
        issuer: who it says that it is; empty where a project says it.
        hosts: what is asked on the way, beside the issuer's own.
        domains: of the mailboxes that are its own, so that it alone says whose they are.
        scope: what is asked for.
    """

    issuer: str = ""
    hosts: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    scope: str = "openid email profile"


KINDS: Final[Mapping[KindName, ProviderKind]] = {
    "google": ProviderKind(
        "https://accounts.google.com",
        ("oauth2.googleapis.com", "www.googleapis.com", "openidconnect.googleapis.com"),
        ("gmail.com", "googlemail.com"),
    ),
    "github": ProviderKind(
        "https://github.com", ("api.github.com",), scope="read:user user:email",
    ),
    "apple": ProviderKind(
        "https://appleid.apple.com", (),
        ("icloud.com", "me.com", "mac.com", "privaterelay.appleid.com"), "openid email name",
    ),
    "microsoft": ProviderKind(
        "https://login.microsoftonline.com/{tenant}/v2.0", ("graph.microsoft.com",),
    ),
    "oidc": ProviderKind(),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """A provider of a project, with the values of its variables. Its text shows no secret.

    Attributes:
        secret: the client's secret; of Apple, the private key that signs one.
        domains: of mailboxes that the project says are this issuer's.
    """

    name: str
    kind: KindName
    issuer: str
    client_id: str
    secret: str = field(repr=False)
    team_id: str = ""
    key_id: str = ""
    domains: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a provider has sent: `issuer` and `subject` together never mean another person.

    Attributes:
        email: that the provider has verified, in lower case; None without one.
        is_authoritative: the mailbox is one of the provider's own.
        name: what they call themselves; may be empty.
    """

    issuer: str
    subject: str
    email: str | None
    is_authoritative: bool
    name: str


MOST_SUBJECT: Final = 255
_MOST_EMAIL: Final = 254
_MOST_NAME: Final = 200


def read_email(given: object) -> str | None:
    """Return an address in lower case; None for what is no plain one.

    Beyond ASCII two addresses may look alike, or become one in lower case: none of them counts.
    """
    if type(given) is not str or len(given) > _MOST_EMAIL or not given.isascii():
        return None
    name, _, domain = given.rpartition("@")
    is_plain = name and domain and given.isprintable() and not set(given) & set(' "<>,;:\\()[]')
    return given.lower() if is_plain and "@" not in name else None


def read_name(given: object) -> str:
    """Return a name that can be shown; empty for anything else."""
    text = given if type(given) is str else ""
    return "".join(one for one in text if one.isprintable()).strip()[:_MOST_NAME]


def is_own(email: str | None, domains: Sequence[str]) -> bool:
    """Return whether a mailbox is one of these domains'."""
    return email is not None and email.rpartition("@")[2] in domains
