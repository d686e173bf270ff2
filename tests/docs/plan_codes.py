"""Make the list of codes in docs/plans.md from the table in the source."""

from __future__ import annotations

from bbops.review.plan.codes import CODES, Section
from tests.conftest import ROOT

PAGE = ROOT / "docs/plans.md"
_HEADING = "## Codes\n\nThe meaning of a code never changes.\n"
_TITLES: dict[Section, str] = {
    "break": "Breaks for clients", "access": "Access that is loosened", "work": "Jobs",
}  # fmt: skip


def plans_page() -> str:
    """Return docs/plans.md with the current codes."""
    head = PAGE.read_text().partition(_HEADING)[0]
    sections = (f"### {title}\n\n{_table(section)}" for section, title in _TITLES.items())
    return head + _HEADING + "\n" + "\n\n".join(sections) + "\n"


def _table(section: Section) -> str:
    rows = [
        f"| `{name}` | {code.text} | {code.cure} |"
        for name, code in CODES.items()
        if code.section == section
    ]
    return "\n".join(["| code | what it means | what to do |", "| --- | --- | --- |", *rows])
