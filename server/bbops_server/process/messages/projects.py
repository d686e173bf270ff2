"""Projects that a data process serves, and their releases."""

from __future__ import annotations

from typing import Literal, NamedTuple

from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.process.messages.request import AnswerMessage, DoneAnswer, RequestMessage


class ProjectPlace(NamedTuple):
    """The address of a project.

    Attributes:
        hosts: empty for any host.
        prefix: the start of its paths; empty for `/`.
        was_live: a release was live before, so requests wait for the first one.
    """

    hosts: tuple[str, ...] = ()
    prefix: str = ""
    was_live: bool = False


EVERYWHERE = ProjectPlace()


class ArrangeProjects(RequestMessage[DoneAnswer], frozen=True):
    """Serve exactly these projects."""

    projects: dict[str, ProjectPlace]
    proxies: tuple[str, ...]
    """Proxies whose forwarded headers are trusted."""

    egress: tuple[str, ...]
    """Rules for outgoing requests."""

    receivers: tuple[str, ...] = ()
    """Private addresses that receivers in rows may have."""

    concurrency: int = 50
    """The number of jobs that a project runs at a time."""

    keep_seconds: float = 604_800.0
    """The time for which ended jobs and events are kept."""

    playground_key: str = ""
    """The key that signs requests of the Playground, in hexadecimal digits."""


class StartPageTexts(NamedTuple):
    """The texts of a release's start page.

    Attributes:
        project: its name.
        release: the name in its response headers.
        branch: the draft's branch; empty in `bbops dev`.
        reference: the URL of its API reference.
        control: the URL of the control plane.
    """

    project: str
    release: str
    branch: str
    reference: str
    control: str


class Bucket(NamedTuple):
    """Object storage for files of projects, each project below its name."""

    endpoint: str
    bucket: str
    region: str
    key_id: str
    secret: str
    prefix: str


class FileStorage(NamedTuple):
    """Storage for a project's files.

    Attributes:
        root: the folder; with `bbops dev`, the project's own.
        in_project: `root` is the project's folder.
        most_bytes: the quota.
        most_files: the quota in files.
        bucket: object storage that replaces the folder.
    """

    root: str
    in_project: bool
    most_bytes: int
    most_files: int
    bucket: Bucket | None = None


class LinkReleaseAnswer(AnswerMessage, frozen=True):
    """A linked release.

    Attributes:
        has_work: it has tasks, triggers or jobs.
    """

    has_work: bool = False


class LinkRelease(RequestMessage[LinkReleaseAnswer], frozen=True):
    """Link a release without making it live."""

    project: str
    artifact: str
    name: str
    """The name in its response headers."""

    database: str
    """A place in the form of `write_place`."""

    history: str
    """The file of the request history; empty for none."""

    durability: Literal["normal", "full"]
    detailed: bool
    """Whether responses show the project's mistakes."""

    env: dict[str, str | None]
    frontend: str = ""
    """The manifest of its files; empty for none."""

    url: str = ""
    hosts: tuple[str, ...] | None = None
    """The hosts that it may reach; None for every host that the server allows."""

    start: StartPageTexts | None = None
    """None without a start page."""

    printer: str = ""
    """The socket of the printing process; empty without one."""

    files: FileStorage | None = None
    """None without storage."""


class SwapRelease(RequestMessage[DoneAnswer], frozen=True):
    """Make the linked release live."""

    project: str
    name: str
    """The name of the linked release."""


class Hold(RequestMessage[DoneAnswer], frozen=True):
    """Queue new requests of a project, and let running ones finish."""

    project: str
    seconds: float
    """The time until queued requests continue without `Resume`."""

    drain_seconds: float
    """The part of it that running requests have to finish."""


class Resume(RequestMessage[DoneAnswer], frozen=True):
    """Continue the queued requests of a project."""

    project: str


class Refuse(RequestMessage[DoneAnswer], frozen=True):
    """Answer every route of a project with these diagnostics until its next release."""

    project: str
    diagnostics: list[JsonDiagnostic]


class Drain(RequestMessage[DoneAnswer], frozen=True):
    """Wait until earlier releases have finished their requests, or their time is up."""

    project: str
