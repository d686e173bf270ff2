"""The model of `server.yaml`. Unknown keys are errors, because later versions may add them."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from bbops.base.errors import DatabaseError, GitError
from bbops.base.model import Model
from bbops.base.names import Duration, Size
from bbops.database.schema.place import read_url
from bbops.runtime.values.units import seconds
from bbops.source.git.address import Address, require_branch
from bbops.source.git.series import TAG, find_tag_mistake, names_project
from bbops_server.settings import MAX_WORKERS
from bbops_server.settings.server_file.ci import (
    MAX_TRUSTS,
    CheckedFreeze,
    TrustedWorkflow,
    check_kinds,
)
from bbops_server.settings.server_file.forge import WrittenForge, check_address
from bbops_server.settings.server_file.webhook import (
    WrittenWebhook,
    check_issuer,
    check_receivers,
    check_url,
    wrong_value,
)

_LISTEN = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):(?P<port>[0-9]{1,5})").fullmatch
_HOST = re.compile(
    r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
).fullmatch
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._-][A-Za-z0-9._~-]*)+").fullmatch
_FOLDER = re.compile(r"(?!.*(?:^|/)\.{1,2}(?:/|$))[^/\x00-\x1f][^\x00-\x1f]*").fullmatch
_MAX_PORT = 65_535
MOST_IDLE: Final = 7 * 86_400
MOST_DRAFTS: Final = 1_000
MOST_CONCURRENCY: Final = 100
DAY_SECONDS: Final = 86_400
"""Topics read the log of events up to a day back, so it is kept at least so long."""

LONGEST_KEEP_DAYS: Final = 365


def split_listen(text: str) -> tuple[str, int]:
    """Return host and port of `127.0.0.1:8000` or `[::1]:8000`."""
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _check_listen(text: str) -> str:
    match = _LISTEN(text)
    if match is None or int(match["port"]) > _MAX_PORT:
        raise wrong_value(f"expected an address and a port, got '{text}'", "such as 127.0.0.1:8000")
    return text


def _check_origin(text: str) -> str:
    url = check_url(text)
    if urlsplit(url).path:
        raise wrong_value(
            f"expected an address without a path, got '{text}'", "such as https://bbops.example.com"
        )
    return url


def _check_database(text: str) -> str:
    try:
        read_url(text, "")
    except DatabaseError as error:
        raise wrong_value("expected a PostgreSQL URL", error.hint) from None
    return text


def _check_host(text: str) -> str:
    if not _HOST(text):
        raise wrong_value(
            f"expected the name of a host in lower case, got '{text}'",
            "such as shop.example.com: no scheme, no port, no '*'",
        )
    return text


def _check_wildcard(text: str) -> str:
    if text and not (text.startswith("*.") and _HOST(text[2:])):
        raise wrong_value(
            f"expected a wildcard in lower case, got '{text}'",
            "such as *.preview.example.net: each draft answers under a name in place of '*'",
        )
    return text


def _check_prefix(text: str) -> str:
    if not _PREFIX(text) or any(part in {".", ".."} for part in text.split("/")):
        raise wrong_value(
            f"expected the beginning of a path, got '{text}'",
            "such as /shop: letters, digits and '-._', without a trailing slash",
        )
    return text


def _check_network(text: str) -> str:
    try:
        ip_network(text)
    except ValueError:
        raise wrong_value(
            f"expected an address or a network, got '{text}'", "such as 10.0.0.7 or 10.0.0.0/8"
        ) from None
    return text


def _check_egress(text: str) -> str:
    is_number = text.replace(".", "").replace("/", "").isdigit() or ":" in text
    return _check_network(text) if is_number else _check_host(text)


def _check_folder(text: str) -> str:
    if not _FOLDER(text):
        raise wrong_value(
            f"expected a folder inside the repository, got '{text}'", "such as apps/shop"
        )
    return text.strip("/")


def _check_repository(text: str) -> str:
    try:
        Address.parse(text)
    except GitError as error:
        raise wrong_value(error.message, error.hint) from None
    return text


def _check_branch(text: str) -> str:
    try:
        return require_branch(text)
    except GitError as error:
        raise wrong_value(error.message, error.hint) from None


def _check_version_tag(text: str) -> str:
    if why := find_tag_mistake(text):
        raise wrong_value(why, f"such as {TAG}")
    return text


def _number(value: Any) -> Any:
    """Take a number that came as text: the environment has nothing else."""
    return int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value) else value


def _check_keep(text: str) -> str:
    if not DAY_SECONDS <= seconds(text) <= LONGEST_KEEP_DAYS * DAY_SECONDS:
        raise wrong_value(f"'keep' is 1d to {LONGEST_KEEP_DAYS}d, got '{text}'", "such as 7d")
    return text


def _check_lone(projects: dict[str, Any]) -> dict[str, Any]:
    if projects:
        raise wrong_value(
            "the command line names the repository of this server already",
            "'bbops serve FILE' serves the projects of a file",
        )
    return projects


Url = Annotated[str, AfterValidator(check_url)]
ProjectName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,62}$")]


class Urls(Model):
    """The public addresses, if they differ from the bound ones."""

    data: Url | None = None
    control: Annotated[str, AfterValidator(_check_origin)] | None = None


class Bind(Model):
    """The addresses to listen on; the control plane needs https beyond this machine."""

    data: Annotated[str, AfterValidator(_check_listen)] = "127.0.0.1:8000"
    control: Annotated[str, AfterValidator(_check_listen)] = "127.0.0.1:8001"


class Egress(Model):
    """The servers that are allowed beside public ones: addresses, networks, names of hosts.

    `receivers` is for webhooks to addresses in rows, `allow` for everything else.
    """

    allow: list[Annotated[str, AfterValidator(_check_egress)]] = []
    receivers: list[Annotated[str, AfterValidator(_check_egress)]] = []
    client_documents: bool = True


class OidcProvider(Model):
    """An OpenID Connect provider. The secret is a value of the environment, or a stored one."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
    issuer: Annotated[str, AfterValidator(check_issuer)]
    client_id: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    client_secret_env: Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")]
    join_by_email: bool = False


def _check_names(providers: list[OidcProvider]) -> list[OidcProvider]:
    names = ["github", *(one.name for one in providers)]
    for name in names:
        if names.count(name) > 1:
            raise wrong_value(f"two providers are named '{name}'", "each needs its own name")
    return providers


class GitHubProvider(Model):
    """GitHub, or a company's own at `url`. The secret is stored as for `OidcProvider`."""

    url: Url = "https://github.com"
    client_id: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    client_secret_env: Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]*$")]
    join_by_email: bool = False


class SignIn(Model):
    """Other services to sign in with."""

    oidc: Annotated[list[OidcProvider], AfterValidator(_check_names)] = []
    github: GitHubProvider | None = None


class Drafts(Model):
    """The idle time of drafts, their number in each project, and their hosts."""

    idle_seconds: Annotated[int, BeforeValidator(_number), Field(ge=1, le=MOST_IDLE)] = 900
    most: Annotated[int, BeforeValidator(_number), Field(ge=0, le=MOST_DRAFTS)] = 200
    hosts: Annotated[str, AfterValidator(_check_wildcard)] = ""
    awake: Annotated[int, BeforeValidator(_number), Field(ge=1, le=MOST_DRAFTS)] = 64


class Work(Model):
    """The number of concurrent jobs of a project, and the age of ended jobs and events."""

    concurrency: Annotated[int, BeforeValidator(_number), Field(ge=1, le=MOST_CONCURRENCY)] = 50
    keep: Annotated[Duration, AfterValidator(_check_keep)] = "7d"


class Files(Model):
    """How much each project may keep with the addon localStorage, and where.

    Files are in the state folder, or in a bucket of object storage that several servers share.
    """

    most: Size = "10GB"
    most_files: Annotated[int, BeforeValidator(_number), Field(ge=1, le=100_000_000)] = 1_000_000
    endpoint: Url | None = None
    bucket: Annotated[
        str | None, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
    ] = None
    region: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,50}$")] = "us-east-1"
    access_key_id: Annotated[str | None, StringConstraints(min_length=1, max_length=500)] = None
    secret_access_key: Annotated[str | None, StringConstraints(min_length=1, max_length=500)] = (
        Field(default=None, repr=False)
    )

    @model_validator(mode="after")
    def _check_bucket(self) -> Self:
        """Take all of a bucket's settings, or none."""
        given = {
            "endpoint": self.endpoint, "bucket": self.bucket, "accessKeyId": self.access_key_id,
            "secretAccessKey": self.secret_access_key,
        }  # fmt: skip
        missing = [name for name, value in given.items() if value is None]
        if 0 < len(missing) < len(given):
            raise wrong_value(
                f"'{missing[0]}' is missing",
                "a bucket has 'endpoint', 'bucket', 'accessKeyId' and 'secretAccessKey'",
            )
        return self


class Chromium(Model):
    """The browser of the addon htmlToPdf: its path, and whether it confines its processes."""

    program: Annotated[str, StringConstraints(max_length=500)] = ""
    sandbox: bool = True


class ServedProject(Model):
    """A project: what it follows, and where it answers."""

    repository: Annotated[str, Field(min_length=1), AfterValidator(_check_repository)]
    branch: Annotated[str, AfterValidator(_check_branch)] = "main"
    path: Annotated[str, AfterValidator(_check_folder)] = ""
    hosts: list[Annotated[str, AfterValidator(_check_host)]] = []
    path_prefix: Annotated[str, AfterValidator(_check_prefix)] = ""
    ci: Annotated[list[TrustedWorkflow], Field(max_length=MAX_TRUSTS)] = []
    forge: WrittenForge | None = None

    @model_validator(mode="after")
    def _check_forge(self) -> Self:
        """Require that the forge's API can find the repository."""
        if self.forge is not None:
            check_address(self.forge, self.repository)
        return self


class ServerFile(Model):
    """All of `server.yaml`."""

    urls: Urls = Urls()
    bind: Bind = Bind()
    proxies: list[Annotated[str, AfterValidator(_check_network)]] = []
    signup: Literal["invitation", "open"] = "invitation"
    sign_in: SignIn = SignIn()
    egress: Egress = Egress()
    drafts: Drafts = Drafts()
    work: Work = Work()
    files: Files = Files()
    chromium: Chromium = Chromium()
    freeze: Annotated[list[CheckedFreeze], Field(max_length=100)] = []
    webhooks: Annotated[
        list[WrittenWebhook], Field(max_length=20), AfterValidator(check_receivers)
    ] = []
    workers: Annotated[int, BeforeValidator(_number), Field(ge=1, le=MAX_WORKERS)] = 1
    database: Annotated[str, AfterValidator(_check_database)] = ""
    version_tag: Annotated[str, AfterValidator(_check_version_tag)] = TAG
    projects: dict[ProjectName, ServedProject]

    @field_validator("projects")
    @classmethod
    def _check_names(
        cls, projects: dict[ProjectName, ServedProject], info: ValidationInfo
    ) -> dict[ProjectName, ServedProject]:
        """Require separate names of versions, and one kind for each issuer."""
        tag = info.data.get("version_tag", TAG)
        if len(projects) > 1 and not names_project(tag):
            raise wrong_value(
                f"'versionTag: {tag}' would be the name of versions of several projects",
                f"include '{{project}}', such as {TAG}",
            )
        check_kinds(workflow for project in projects.values() for workflow in project.ci)
        return projects


class LoneFile(ServerFile):
    """The same of a server whose command line names its one repository."""

    projects: Annotated[dict[str, ServedProject], AfterValidator(_check_lone)] = {}
