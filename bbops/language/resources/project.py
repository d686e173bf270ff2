"""project: `project.yaml`, the settings of the whole project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from bbops.base.model import Model, need_one_of
from bbops.base.names import Duration, EnvName, EnvReference, VariableName, env_name
from bbops.language.resources._access import Errors
from bbops.language.resources._kind import EndpointName, Kind, TableName
from bbops.language.resources._sign_in import Host, Profile, Provider, ProviderName
from bbops.language.resources.channel import HeaderName

Scheme = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,40}$")]
CookieName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
_PART = r"[A-Za-z0-9_-][A-Za-z0-9_.-]*"
Folder = Annotated[str, StringConstraints(pattern=rf"^{_PART}(/{_PART})*$")]
_DOT_PART = r"\.?[A-Za-z0-9_-][A-Za-z0-9_.-]*"
ProjectPath = Annotated[str, StringConstraints(pattern=rf"^{_DOT_PART}(/{_DOT_PART})*$")]
"""The path of a file or folder of the project, which may begin with a dot."""


class EnvVariable(Model):
    """A value from outside the repository."""

    secret: bool = False
    required: bool = True
    default: str | None = None
    generate: bool = False
    description: str | None = None

    @property
    def may_be_missing(self) -> bool:
        """Whether a release goes live without it: it has a default, or is not required."""
        return self.default is not None or self.generate or not self.required


class VerifyingKey(Model):
    """A key of another issuer whose tokens count too: the key itself, or the URL of its key set."""

    id: str | None = None
    algorithm: Literal["HS256", "HS384", "HS512", "RS256", "ES256", "EdDSA"]
    key: EnvReference | None = None
    jwks_url: Annotated[str, StringConstraints(pattern=r"^https://[^\s]+$")] | None = None

    @model_validator(mode="before")
    @classmethod
    def check_keys(cls, data: Any) -> Any:
        """Refuse a key without a source, or with two."""
        return need_one_of(cls, data, "key", "jwksUrl")


class Refresh(Model):
    """How long a sign-in lasts without being used."""

    expires_in: Duration = "30d"


class Auth(Model):
    """How session tokens are signed; `schemes` are the words before a token.

    `providers` are services at which users sign in, by the name in the route `/~auth/NAME`; they
    need `session.cookie`. `profile` says which columns of `users` such an account is made of.
    """

    users: TableName | None = None
    signing_key: EnvReference
    algorithm: Literal["HS256", "HS384", "HS512", "RS256", "ES256", "EdDSA"] = "HS256"
    expires_in: Duration = "24h"
    issuer: str | None = None
    audience: str | None = None
    schemes: list[Scheme] = Field(default=["Bearer"], min_length=1)
    keys: list[VerifyingKey] = []
    refresh: Refresh | None = None
    providers: dict[ProviderName, Provider] = {}
    profile: Profile = Field(default_factory=Profile)

    @property
    def key_name(self) -> str:
        """The env variable that holds the signing key."""
        return env_name(self.signing_key)


class Cookie(Model):
    """The HttpOnly cookie that holds the token; the refresh token has the cookie `<name>-refresh`.

    With `name: __Host-session` no other host can plant one; it goes with `path: /`, no `domain`.
    """

    name: CookieName = "session"
    same_site: Literal["Strict", "Lax", "None"] = "Lax"
    secure: bool = True
    domain: Host | None = None
    path: Annotated[str, StringConstraints(pattern=r"^/[A-Za-z0-9._~/-]*$")] = "/"


class Session(Model):
    """The settings of signing in for a frontend: names of endpoints, and fields of answers.

    `login` and `signup` take 10 requests a minute for one email from one address, 100 for it from
    anywhere, and 30 from one address, unless their channel has a `rateLimit`.

    `login` may only be missing where users sign in at `auth.providers`.

    With `cookie` the answers of `login`, `signup` and `refresh` carry `tokenField` and
    `refreshField` in cookies instead; the refresh cookie goes to `refresh` and `logout` alone and
    fills the field there, and `logout` clears them all. JWT endpoints take the cookie
    where there is no `Authorization` header. A change by cookie is 403 without `csrfHeader`, where
    that is given, and from a page of an origin that the channel does not list with `credentials`.
    """

    login: EndpointName | None = None
    signup: EndpointName | None = None
    refresh: EndpointName | None = None
    logout: EndpointName | None = None
    token_field: VariableName = "token"  # noqa: S105 - the name of a field
    refresh_field: VariableName | None = None
    cookie: Cookie | None = None
    csrf_header: HeaderName | None = None


class DestructiveReview(Model):
    """The requirements for publishing a plan that loses data."""

    approvals: Annotated[int, Field(ge=0, le=10)] = 1


AgentRule = Literal["propose", "merge"]
"""The action that coding agents may take on a proposal that is ready to merge."""


class SignedReview(Model):
    """The signatures that commits need, by the files of the live commit.

    - `signers` is a file of SSH keys, as git's `gpg.ssh.allowedSignersFile`; `keys` a folder of
      OpenPGP public keys, `*.asc`. Only the versions in the live commit count, so that a commit
      cannot add its own signer.
    """

    signers: ProjectPath | None = None
    keys: ProjectPath | None = None

    @model_validator(mode="after")
    def check_sources(self) -> Self:
        """Refuse rules that no signature could meet."""
        if self.signers is None and self.keys is None:
            message = "'signers' or 'keys' is missing"
            raise PydanticCustomError("one_of", message, {"key": "", "hint": ""})
        return self


class Review(Model):
    """How changes come to the main branch.

    - `agents: propose` lets no agent merge, whatever grants and approvals it has: a person does.
      With `merge` an agent may, where its person may.
    - `source: forge` accepts the reviews of pull requests on the forge that hosts the repository;
      docs/proposals.md says which of them count.
    """

    main: Literal["direct", "proposals"] = "direct"
    approvals: Annotated[int, Field(ge=0, le=10)] = 0
    destructive: DestructiveReview = Field(default_factory=DestructiveReview)
    max_removed_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    agents: AgentRule = "propose"
    source: Literal["server", "forge"] = "server"
    signed: SignedReview | None = None

    @model_validator(mode="after")
    def check_source(self) -> Self:
        """Refuse reviews of a forge without the rule that changes are reviewed."""
        if self.source == "forge" and self.main != "proposals":
            message = "'source: forge' needs 'main: proposals'"
            hint = "add 'main: proposals', or remove 'source'"
            raise PydanticCustomError("one_of", message, {"key": "source", "hint": hint})
        return self


class TestOptions(Model):
    """With `gate`, a commit is published only if its tests pass.

    `bbops serve` runs them on each commit, for at most 120 s; `bbops dev` does not.
    """

    gate: bool = False


Engine = Literal["sqlite", "postgres"]
"""A kind of database."""


class DatabaseOptions(Model):
    """The requirements of the project for its database.

    - `durability: full` waits for the disk on each write; `normal` may lose a moment in a power
      cut.
    - All steps give the same on every database. A project whose own `sql` is for one of them says
      so, by `engine`, and is served on no other. Without it such SQL is tried on SQLite.
    """

    durability: Literal["normal", "full"] = "normal"
    engine: Engine | None = None


class Frontend(Model):
    """Built files that are served where no route answers; docs/frontend.md says how.

    - The files of `directory` in the same commit are served; without any, the files that the last
      `bbops frontend publish` brought.
    - `spa` answers with the start page what people open in a browser and no file has the name of.
    """

    directory: Folder = "frontend/dist"
    spa: bool = False


class Project(Kind):
    """The project itself: its name, its values from outside, how people sign in.

    - It stands alone at the root, as `project.yaml`; `bbops: 1` is the version of the language.
    - A value of `env` comes from the server's environment, else from `bbops env set`, else it is
      made up (`generate: true`), else it is `default`. Without one a variable is required unless
      it says `required: false`: a missing one stops the publication, and `bbops status` says the
      command that sets it. Secrets are never stored in git.
    - Tokens are signed with `auth.signingKey`, always `${ env.NAME }`, of at least 32 characters
      for HS256. For RS256, ES256 and EdDSA it is a private key in PEM, whose public one stands at
      `/~jwks.json` for others. `auth.users` names the table whose key `vars.auth.userId` is.
    """

    folder: ClassVar[str] = ""

    bbops: Literal[1]
    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,62}$")]
    description: str | None = None
    env: dict[EnvName, EnvVariable] = {}
    auth: Auth | None = None
    database: DatabaseOptions = Field(default_factory=DatabaseOptions)
    errors: Errors = Field(default_factory=Errors)
    session: Session | None = None
    review: Review = Field(default_factory=Review)
    tests: TestOptions = Field(default_factory=TestOptions)
    frontend: Frontend | None = None

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return the summary of a resource for lists, beside its description."""
        return str(body.get("name", ""))
