"""The settings of a server, and of each project."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal, get_args
from urllib.parse import urlsplit

from bbops.database.schema.place import Place, PostgresPlace, fit_name
from bbops_server.settings.freezes import Freeze
from bbops_server.settings.repositories import CiTrust, ForgeBinding

Durability = Literal["normal", "full"]
Attempted = Literal["published", "stalled"]
WebhookEvent = Literal[
    Attempted,
    "proposal.opened", "proposal.updated", "proposal.approved", "proposal.refused",
    "proposal.commented", "proposal.merged", "proposal.closed",
    "draft.ready", "draft.failed", "draft.gone",
]  # fmt: skip
ATTEMPTED: Final[tuple[Attempted, ...]] = get_args(Attempted)
"""The events of a receiver that names none."""

CONTROL_HOST = "127.0.0.1"
"""The address of the control plane by default."""

MAX_WORKERS = 64

_HERE = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, not bound


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of sign-in.

    Attributes:
        name: as it stands in addresses and beside identities.
        issuer: its address; of GitHub, that of GitHub.
        secret_env: the variable, or stored value, that holds our secret there.
        joins_by_email: whether a verified e-mail address signs in to the account with that address.
    """

    name: str
    kind: Literal["oidc", "github"]
    issuer: str
    client_id: str
    secret_env: str
    joins_by_email: bool = False


@dataclass(frozen=True, slots=True)
class Webhook:
    """A receiver of events; its secret is kept as the secret of a `Provider`."""

    url: str
    events: frozenset[WebhookEvent]
    secret_env: str


@dataclass(frozen=True, slots=True)
class Access:
    """The access to the control plane.

    Attributes:
        signup: whether every visitor may create an account, or invited users only.
        proxies: the proxies whose headers name the client's address.
        trusts: the workflows that can publish a project.
        forges: the forges of projects.
    """

    signup: Literal["invitation", "open"] = "invitation"
    proxies: tuple[str, ...] = ()
    providers: tuple[Provider, ...] = ()
    trusts: tuple[CiTrust, ...] = ()
    forges: tuple[ForgeBinding, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftSettings:
    """The number of drafts, and the time they stay awake.

    Attributes:
        idle_seconds: a draft without requests for so long sleeps again; its database stays.
        most: the branches committed to last; others are not previewed.
        hosts: `*.preview.example.com`: each has a host of its own; empty: the host of its project.
        awake: how many of all projects have a process at a time.
    """

    idle_seconds: float = 900.0
    most: int = 200
    hosts: str = ""
    awake: int = 64

    def host_of(self, label: str) -> str:
        """Return the host of one draft; empty where drafts have none of their own."""
        return self.hosts.replace("*", label, 1)


@dataclass(frozen=True, slots=True)
class WorkSettings:
    """The jobs of live projects.

    Attributes:
        concurrency: how many jobs of a project run at a time in one process.
        keep_seconds: how long ended jobs and events are kept.
    """

    concurrency: int = 50
    keep_seconds: float = 604_800.0


@dataclass(frozen=True, slots=True)
class BucketSettings:
    """Object storage that keeps the files of projects, each project's below its name."""

    endpoint: str
    bucket: str
    region: str
    key_id: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FileSettings:
    """The files of the addon localStorage: the limits of each project, and their place.

    Attributes:
        bucket: None for the state folder.
    """

    most_bytes: int = 10 << 30
    most_files: int = 1_000_000
    bucket: BucketSettings | None = None


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """The browser that prints for the addon htmlToPdf.

    Attributes:
        program: its path or name; empty to look for Chromium.
        sandbox: whether it confines its own processes, which root cannot.
    """

    program: str = ""
    sandbox: bool = True


@dataclass(frozen=True, slots=True)
class Settings:
    """One server's settings.

    A port of 0 means any free one; `main.run` puts the found one in its place. `data_shown` and
    `control_shown` are the addresses for users, if they differ from those of this machine.
    `setup_url` creates the first account; empty when there is one. `database_url` is of PostgreSQL;
    empty where projects keep their data in files. `schema` is the name that those begin with.
    `reads_clients` is whether documents that agents' programs publish of themselves are read.
    `version_tag` is what the tags of versions are called; empty for `bbops.source.git.series.TAG`.
    """

    state: Path
    host: str = "127.0.0.1"
    port: int = 8000
    control_host: str = CONTROL_HOST
    control_port: int = 8001
    workers: int = 1
    mode: Literal["serve", "dev"] = "serve"
    data_shown: str = ""
    control_shown: str = ""
    access: Access = Access()
    drafts: DraftSettings = DraftSettings()
    freezes: tuple[Freeze, ...] = ()
    egress: tuple[str, ...] = ()
    reads_clients: bool = True
    webhooks: tuple[Webhook, ...] = ()
    setup_url: str = field(default="", repr=False)
    database_url: str = field(default="", repr=False)
    schema: str = "bbops"
    version_tag: str = ""
    files: FileSettings = FileSettings()
    browser: BrowserSettings = BrowserSettings()
    printer: str = ""
    """The socket behind which the browser is; found when the server starts."""

    @property
    def secret_variables(self) -> frozenset[str]:
        """The variables of the server's own secrets: of sign-in, webhooks and forges."""
        access = self.access
        named = [each.secret_env for each in access.providers]
        named += [each.secret_env for each in self.webhooks]
        for forge in access.forges:
            named += [forge.secret_env, forge.token_env, forge.app.key_env if forge.app else ""]
        return frozenset(named) - {""}

    @property
    def accounts(self) -> PostgresPlace | None:
        """The schema of the accounts; None if they are in the state folder.

        No project has that schema: none has a name that begins with `-`.
        """
        if not self.database_url:
            return None
        return PostgresPlace(self.database_url, fit_name(f"{self.schema}__control"))

    @property
    def data_url(self) -> str:
        """The address of the projects' routes."""
        return self.data_shown or self.data_here

    @property
    def data_here(self) -> str:
        """The address of the projects' routes on this machine."""
        return _url(_HERE.get(self.host, self.host), self.port)

    @property
    def control_url(self) -> str:
        """The address of the control plane."""
        return self.control_shown or self.control_here

    @property
    def control_here(self) -> str:
        """The address of the control plane on this machine."""
        return _url(_HERE.get(self.control_host, self.control_host), self.control_port)

    @property
    def is_for_this_machine(self) -> bool:
        """Whether the control plane is for users of this machine only."""
        named = urlsplit(self.control_shown).hostname if self.control_shown else None
        return is_loopback(self.control_host) and (named is None or is_loopback(named))

    def url_of(self, project: ProjectSettings) -> str:
        """Return the address of a project, under the first of its hosts."""
        url = self.data_url
        if project.hosts:
            parts = urlsplit(url)
            port = f":{parts.port}" if parts.port else ""
            url = f"{parts.scheme}://{project.hosts[0]}{port}{parts.path}"
        return url + project.prefix


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """One project's settings.

    `name` is what the server calls it; a server of one project leaves it empty, and the project's
    own counts. `path` is its folder in a repository of several, else empty.
    """

    state: Path
    name: str = ""
    branch: str = "main"
    path: str = ""
    hosts: tuple[str, ...] = ()
    prefix: str = ""
    postgres: PostgresPlace | None = None

    @property
    def database(self) -> Place:
        """Where its data is: a schema of PostgreSQL, or a file in the state folder."""
        return self.postgres or self.state / "data.sqlite"

    @property
    def schema(self) -> str | None:
        """The schema of PostgreSQL that holds its data."""
        return self.postgres.schema if self.postgres else None

    @property
    def history(self) -> Path:
        """The requests that were answered: always a file, which the data processes write."""
        return self.state / "history.sqlite"


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Return whether a name or an address, without a port, is this machine's to itself."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
