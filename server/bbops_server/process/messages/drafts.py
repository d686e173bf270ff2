"""Drafts: their addresses, processes and visitors."""

from __future__ import annotations

from typing import Any, NamedTuple

from bbops_server.process.messages.request import (
    AnswerMessage,
    DoneAnswer,
    EventMessage,
    RequestMessage,
)


class DraftPlace(NamedTuple):
    """The address of a draft, and the key of its tokens.

    Attributes:
        branch: its name in git.
        hosts: the project's hosts; empty for any.
        prefix: the start of its paths, with the project's own prefix.
        own_host: the draft's own host; empty if drafts share the project's.
        url: its base URL, without a final slash.
        key: the signing key of its tokens, in hex.
        control_url: the URL of the control plane, for strangers.
        page_url: the URL of its page in the control plane, for members.
        is_secure: whether browsers reach it over HTTPS.
        tell_seconds: the interval at which its use is reported to the parent, which keeps it awake.
    """

    branch: str
    hosts: tuple[str, ...]
    prefix: str
    key: str
    control_url: str
    page_url: str
    is_secure: bool = False
    tell_seconds: float = 20.0
    own_host: str = ""
    url: str = ""


class ArrangeDrafts(RequestMessage[DoneAnswer], frozen=True):
    """Serve exactly these drafts."""

    drafts: dict[str, DraftPlace]
    hosts: str
    """The parent domain of the drafts' own hosts; empty without one."""


class AdmitMembers(RequestMessage[DoneAnswer], frozen=True):
    """Set the members who may open the drafts of each project."""

    members: dict[str, list[str]]
    """Marks of members, by project."""


class AllowEgress(RequestMessage[DoneAnswer], frozen=True):
    """Replace the egress rules of a draft's process."""

    egress: tuple[str, ...]


class UpdateDraft(RequestMessage[DoneAnswer], frozen=True):
    """Set the socket of a draft's process, or the response that replaces it."""

    project: str
    """The draft's name in data processes."""

    socket: str = ""
    """Empty without a process."""

    refusal: bytes | None = None
    is_busy: bool = False


class DraftWanted(EventMessage, frozen=True):
    """A draft received a request."""

    name: str


class EndStreams(RequestMessage[DoneAnswer], frozen=True):
    """End streamed responses of a draft after a grace period, because the server stops."""

    seconds: float


class SignInAnswer(AnswerMessage, frozen=True):
    """A token; empty if the row does not exist."""

    token: str


class SignInToDraft(RequestMessage[SignInAnswer], frozen=True):
    """Sign in as a user of a draft."""

    project: str
    """The draft's name in data processes."""

    table: str
    key: str
    """The column whose value the token carries as its subject."""

    by: str
    """The column to look the row up by."""

    value: Any
    tells: list[str]
    """The columns that become claims: `email`, `role` or both."""


class DraftRows(AnswerMessage, frozen=True):
    """Rows, newest first: the key of each, and the values of its labels, all as text."""

    rows: list[tuple[str, list[str]]]


class ListDraftRows(RequestMessage[DraftRows], frozen=True):
    """List rows of a draft's table, to choose one."""

    project: str
    """The draft's name in data processes."""

    table: str
    key: str
    """The column of the primary key."""

    labels: list[str]
    """Columns that people know a row by."""

    limit: int
