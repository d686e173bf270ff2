"""Link a release beside the one that is live."""

from __future__ import annotations

from typing import Literal, NamedTuple

from bbops_server.process.messages.request import Answer, Request


class Start(NamedTuple):
    """What the start page of a release says.

    Attributes:
        project: its name.
        release: what its answers carry.
        branch: that of a draft; empty in `bbops dev`.
        reference: the address of its API reference.
        control: the address of the control plane.
    """

    project: str
    release: str
    branch: str
    reference: str
    control: str


class Bucket(NamedTuple):
    """Object storage in which files of projects are, each project's below its name."""

    endpoint: str
    bucket: str
    region: str
    key_id: str
    secret: str
    prefix: str


class KeptFiles(NamedTuple):
    """Where a project keeps files.

    Attributes:
        root: their folder; of a project that is served as it is written, the project's own.
        in_project: it is that.
        most_bytes: that it may keep.
        most_files: likewise.
        bucket: where they are in the place of the folder.
    """

    root: str
    in_project: bool
    most_bytes: int
    most_files: int
    bucket: Bucket | None = None


class Linked(Answer, frozen=True):
    """A release is linked; `has_work` says whether something is to run outside of requests."""

    has_work: bool = False


class LinkRelease(Request[Linked], frozen=True):
    """Link a release beside the one that is live."""

    project: str
    artifact: str
    name: str
    """What its answers carry."""

    database: str
    """As `write_place` writes it."""

    history: str
    """The file of the request history; empty for none."""

    durability: Literal["normal", "full"]
    detailed: bool
    """Whether callers are told what is wrong with the project."""

    env: dict[str, str | None]
    frontend: str = ""
    """The manifest of its files; empty for none."""

    url: str = ""
    hosts: tuple[str, ...] | None = None
    """The only ones that it may reach; None for all that the server may."""

    start: Start | None = None
    """What its start page says; None where there is none."""

    printer: str = ""
    """The socket of what prints; empty where nothing does."""

    files: KeptFiles | None = None
    """Where it keeps files; None where it cannot."""
