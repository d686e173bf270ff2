"""A plan as the comment of a proposal. Any text of a project stays text in its cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bbops.base.render import printable
from bbops.review.plan.codes import Finding
from bbops.review.plan.plan import Document, Plan
from bbops.review.plan.render import phrases

MARK = "<!-- bbops plan -->"
"""Begins the comment, so that the next plan of a proposal can replace it."""

MOST = 60_000
"""The most characters; GitHub accepts 65,536."""

_ROWS = (1000, 500, 300, 200, 150, 100, 70, 50, 30, 10, 3, 1)
_CELL = 400
_SPECIAL = re.compile(r"[\\`*_\[\]~|$]")
_INVISIBLE = "&#8203;"
# Texts that a forge turns into a link or a mention: @name, #12, !12, GH-12, an address.
_LINKS = re.compile(
    r"(?<=@)|(?<=[#!])(?=\d)|(?<=GH-)(?=\d)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE
)

Row = Sequence[str]


def render_markdown(document: Document) -> str:
    """Return a plan in GitHub's Markdown, at most 60,000 characters; rows beyond it are counted."""
    for rows in _ROWS:
        text = "\n\n".join(render_parts(document, rows)) + "\n"
        if len(text) <= MOST:
            return text
    return "\n\n".join(_head(document, 1)) + "\n"


def escape(text: str) -> str:
    """Return text that is shown literally: without markup, cell ends, links and mentions.

    A line of a comment that begins with `/` would be a command of GitLab, such as `/merge`.
    """
    line = " ".join(printable(text).split())
    line = line if len(line) <= _CELL else f"{line[:_CELL]} …"
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _SPECIAL.sub(lambda found: f"\\{found[0]}", line)
    line = f"\\{line}" if line.startswith("/") else line
    return _LINKS.sub(_INVISIBLE, line)


def code(text: str) -> str:
    """Return text as code, in a table or outside."""
    line = " ".join(printable(text).replace("`", "'").split())
    return f"`{line.replace('|', chr(92) + '|')}`"


def _head(document: Document, rows: int) -> Iterator[str]:
    plan = document.plan
    yield MARK
    yield f"### {phrases.summary(plan)}"
    yield f"{escape(phrases.between(document))} · **{phrases.approvals(plan)}**"
    if whys := [*plan.verdict.refused, *plan.verdict.reasons]:
        yield _bullets(whys, rows)


def render_parts(document: Document, rows: int) -> Iterator[str]:
    """Yield the blocks of a plan in Markdown, with at most `rows` rows in each table."""
    plan = document.plan
    yield from _head(document, rows)
    if not document.changes:
        return
    yield from _findings(phrases.BREAKS, plan.breaks, rows)
    yield from _findings(phrases.ACCESS, plan.access, rows)
    yield from _tables(plan, rows)
    yield from _work(plan, rows)
    if needs := list(phrases.needs(plan)):
        yield f"#### {phrases.NEEDS}"
        yield _bullets(needs, rows)
    yield from _folded(phrases.ROUTES, ("", "route", "what"), _routes(plan), rows)
    yield from _folded(phrases.FILES, ("", "file", "what"), _files(plan), rows)
    yield f"<sub>plan {code(document.digest[:12])}</sub>"


def _findings(title: str, found: Sequence[Finding], rows: int) -> Iterator[str]:
    if not found:
        return
    yield f"#### {title}"
    listed = [
        (
            code(finding.subject),
            escape(finding.message),
            code(f"{finding.file}:{finding.line}"),
            code(finding.code),
        )
        for finding in found
    ]
    yield _table(("what", "how", "where", "code"), listed, rows)
    cures = dict.fromkeys((finding.code, finding.cure) for finding in found)
    lines = "\n".join(f"- {code(name)}: {escape(cure)}" for name, cure in cures)
    yield f"<details><summary>where it was not intended</summary>\n\n{lines}\n\n</details>"


def _tables(plan: Plan, rows: int) -> Iterator[str]:
    if not plan.tables:
        return
    yield f"#### {phrases.DATA}"
    listed = [
        (f"**{table.risk}**" if table.risk != "safe" else table.risk,
         escape(phrases.of_table(table)),
         escape(table.cure if table.risk != "safe" else "")) for table in plan.tables
    ]  # fmt: skip
    yield _table(("", "change", "cure"), listed, rows)
    if not plan.looked and any(change.risk != "safe" for change in plan.tables):
        yield escape(phrases.NOBODY_LOOKED[:1].upper() + phrases.NOBODY_LOOKED[1:] + ".")


def _work(plan: Plan, rows: int) -> Iterator[str]:
    found = phrases.of_work(plan)
    if found:
        yield f"#### {phrases.JOBS}"
        listed = [
            (code(change.work), escape(phrases.of_jobs(change)),
             code(f"{change.file}:{change.line}"), code(change.code)) for change in found
        ]  # fmt: skip
        yield _table(("whose", "what", "where", "code"), listed, rows)


def _routes(plan: Plan) -> list[Row]:
    return [
        (
            code(phrases.SIGNS[route.verb]),
            code(f"{route.method} {route.path}"),
            escape(phrases.of_route(route)),
        )
        for route in plan.routes
    ]


def _files(plan: Plan) -> list[Row]:
    return [
        (
            code(phrases.SIGNS[resource.verb]),
            code(resource.file),
            escape(phrases.of_resource(resource)),
        )
        for resource in plan.resources
    ]


def _folded(title: str, heads: Row, rows: list[Row], most: int) -> Iterator[str]:
    if rows:
        table = _table(heads, rows, most)
        state = " open" if len(rows) <= 10 else ""
        yield f"<details{state}><summary>{title}: {len(rows)}</summary>\n\n{table}\n\n</details>"


def _bullets(lines: Sequence[str], most: int) -> str:
    more = [f"- and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([*(f"- {escape(line)}" for line in lines[:most]), *more])


def _table(heads: Row, rows: Sequence[Row], most: int) -> str:
    shown: Iterable[Row] = rows[:most]
    lines = [_row(heads), _row(["---"] * len(heads)), *map(_row, shown)]
    if len(rows) > most:
        lines.append(_row([*[""] * (len(heads) - 1), f"and {len(rows) - most} more"]))
    return "\n".join(lines)


def _row(cells: Row) -> str:
    return f"| {' | '.join(cells)} |"
