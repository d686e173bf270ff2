"""One consequence that a reviewer should know of: what it is about, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass

from bbops.base.diagnostics import Place
from bbops.review.plan.codes import CODES


@dataclass(frozen=True, slots=True)
class Finding:
    """A contract break, or access that is loosened.

    Attributes:
        code: as docs/plans.md explains it.
        subject: whose, for example `GET /notes/:id`.
        message: what is the matter, without the subject.
        file: in the new project, or in the old one where the new one has nothing to show.
        line: in that file, from 1.
        cure: what to do where it was not intended.
    """

    code: str
    subject: str
    message: str
    file: str
    line: int
    cure: str


def finding(code: str, subject: str, message: str, place: Place) -> Finding:
    """Return a finding at a place."""
    return Finding(code, subject, message, place.file, place.line, CODES[code].cure)


def sort_findings(found: list[Finding]) -> tuple[Finding, ...]:
    """Return findings once each: in the order of the codes, then by subject and place."""
    rank = {code: number for number, code in enumerate(CODES)}
    return tuple(sorted(set(found), key=lambda f: (rank[f.code], f.subject, f.file, f.line,
                                                   f.message)))  # fmt: skip
