"""Services at which a project's users sign in, and the accounts that sign-ins create."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from bbops.base.model import Model
from bbops.base.names import ColumnName, EnvReference
from bbops.language.addons._base import Setting
from bbops.runtime.identities.kinds import KINDS, KindName

Host = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")]
ProviderName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
_PATH = r"(/[^\s?#]*[^\s?#/])?$"
Issuer = Annotated[
    str,
    StringConstraints(
        pattern=rf"^https://[^\s/?#@]+{_PATH}|^http://(127\.0\.0\.1|localhost)(:[0-9]{{1,5}})?{_PATH}"
    ),
]
Tenant = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{0,99}$")]


class Provider(Model):
    """A service at which users sign in, with the id and the secret that it has given the project.

    The callback address to register there is `{base_url}/~auth/NAME/callback`.

    - `kind` need not be given where the name is `google`, `github`, `apple` or `microsoft`; with
      any other name it is `oidc`, an OpenID Connect provider, whose `issuer` is needed.
    - `apple` has no `clientSecret`: `teamId`, `keyId` and `privateKey` sign one.
    - `microsoft` needs its `tenant`: an id, or `common`, `organizations` or `consumers`.
    - `issuer` is for GitHub Enterprise, or a stand-in in tests, too.
    - `domains` are mailbox domains that the issuer alone manages: it decides whose an address is.
    """

    kind: KindName | None = None
    client_id: Setting
    client_secret: EnvReference | None = None
    issuer: Issuer | None = None
    tenant: Tenant | None = None
    team_id: Setting | None = None
    key_id: Setting | None = None
    private_key: EnvReference | None = None
    domains: Annotated[list[Host], Field(max_length=100)] = []

    def kind_of(self, name: str) -> KindName:
        """Return the kind of the service; `name` is the provider's name."""
        return self.kind or _OF_NAMES.get(name, "oidc")

    def issuer_of(self, name: str) -> str:
        """Return the issuer of its tokens; empty if it is not configured."""
        issuer = self.issuer or KINDS[self.kind_of(name)].issuer
        return issuer.replace("{tenant}", self.tenant or "common")

    def settings(self) -> Iterator[tuple[str, str | None, bool]]:
        """Yield key, value and secrecy of each setting that may be a variable."""
        yield "clientId", self.client_id, False
        yield "clientSecret", self.client_secret, True
        yield "teamId", self.team_id, False
        yield "keyId", self.key_id, False
        yield "privateKey", self.private_key, True


_OF_NAMES: Final[dict[str, KindName]] = {name: name for name in KINDS}


class Profile(Model):
    """The columns of the table of users that a sign-in at a provider reads and fills.

    - `email` is unique. `emailVerified`, a boolean or a datetime, says that the project itself has
      verified it. Without one no identity joins an account that was there before.
    - `role` goes into the token. `name` is what the provider calls the user.
    - `blocked`, a boolean or a datetime, says that the account may not sign in at a provider.
    """

    email: ColumnName = "email"
    email_verified: ColumnName | None = None
    name: ColumnName | None = None
    role: ColumnName | None = None
    blocked: ColumnName | None = None
