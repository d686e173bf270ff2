"""A project's trust in the workflows of one repository."""

from __future__ import annotations

import hashlib
import re
from dataclasses import astuple, dataclass
from typing import Final, Literal, get_args

IssuerKind = Literal["github", "gitlab"]
ISSUER_KINDS: Final[tuple[IssuerKind, ...]] = get_args(IssuerKind)


@dataclass(frozen=True, slots=True)
class CiTrust:
    """The workflows whose identity tokens the server exchanges for tokens of a project.

    Attributes:
        kind: the names of the issuer's claims; Forgejo and GitHub share theirs.
        repository_id: the number of the repository, which survives a rename; so does `owner_id`.
        ref: a full ref, in which a segment `*` stands for any one segment.
        environment: the deployment environment of the job; empty for any.
        workflow: a path in the repository, or `owner/name/path@ref`; empty for any.
    """

    project: str
    kind: IssuerKind
    issuer: str
    repository_id: str
    owner_id: str
    ref: str
    environment: str = ""
    workflow: str = ""

    @property
    def digest(self) -> str:
        """A hash of all attributes: a token is valid as long as its trust is unchanged."""
        return hashlib.sha256("\0".join(astuple(self)).encode()).hexdigest()

    def covers(self, ref: str) -> bool:
        """Return whether the pattern matches a full ref."""
        parts = ("[^/]+" if part == "*" else re.escape(part) for part in self.ref.split("/"))
        return ".." not in ref and re.fullmatch("/".join(parts), ref) is not None
