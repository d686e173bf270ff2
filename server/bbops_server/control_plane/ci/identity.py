"""The identity of a workflow's run, read from the claims of its verified identity token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Claims = Mapping[str, Any]

MAX_CLAIM: Final = 250
_ODD: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_ID: Final = re.compile(r"[1-9][0-9]{0,17}")
_SHA: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class RejectedClaim(Exception):
    """A claim of a verified identity token that differs from what is required.

    Attributes:
        claim: its name.
        found: its value, for its own caller.
        reason: the end of a sentence about it, which names no setting of the server.
        expected: the required value, for the server's log only.
    """

    def __init__(self, claim: str, found: object, reason: str, expected: str = "") -> None:
        self.claim, self.found = claim, _shorten(found)
        self.reason, self.expected, self.subject = reason, expected, ""
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The message for the caller."""
        if self.found == "None":
            return f"the identity token has no claim '{self.claim}', {self.reason}"
        return f"the claim '{self.claim}' of the identity token is '{self.found}', {self.reason}"

    @property
    def record(self) -> str:
        """The message for the server's log and its audit entries."""
        expected = f", expected '{self.expected}'" if self.expected else f", {self.reason}"
        return f"claim '{self.claim}': found '{self.found}'{expected}{self.subject}"

    def of(self, subject: object) -> RejectedClaim:
        """Return the error with the subject of the token in its record."""
        self.subject = f" ({_shorten(subject)})"
        return self


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """The names of an issuer's claims."""

    repository_id: str
    owner_id: str
    repository: str
    ref: str
    environment: str
    workflow: str
    sha: str
    run: str
    actor: str


@dataclass(frozen=True, slots=True)
class CiIdentity:
    """The run of a workflow.

    Attributes:
        repository: its name, `owner/name`, which can change; `repository_id` cannot.
        ref: its full ref.
        environment: the deployment environment of the job; empty without one.
        workflow: `owner/name/path@ref` of the file that defines the job.
        sha: the commit.
        names: the names of these claims, for messages.
    """

    repository: str
    repository_id: str
    owner_id: str
    ref: str
    environment: str
    workflow: str
    sha: str
    run: str
    actor: str
    names: ClaimNames


def text_of(claims: Claims, name: str, *, required: bool = True, most: int = MAX_CLAIM) -> str:
    """Return a claim of at most `most` printable characters.

    Raises:
        RejectedClaim: it is not a text, too long, or missing although it is `required`.
    """
    value = claims.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or not value or len(value) > most or _ODD.search(value):
        raise RejectedClaim(name, value, f"which must be a text of 1 to {most} characters")
    return value


def read_id(claims: Claims, name: str) -> str:
    """Return the digits of a permanent number. Raises as `text_of`."""
    value = claims.get(name)
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not _ID.fullmatch(text):
        raise RejectedClaim(name, value, "which must be a number")
    return text


def read_sha(claims: Claims, name: str) -> str:
    """Return the id of a commit. Raises as `text_of`."""
    value = text_of(claims, name)
    if not _SHA.fullmatch(value):
        raise RejectedClaim(name, value, "which must be the id of a commit")
    return value


def _shorten(value: object) -> str:
    return _ODD.sub("?", str(value)[:MAX_CLAIM])
