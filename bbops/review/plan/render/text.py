"""A plan for a terminal: plain lines, at most 100 wide, most important first."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter

import click

from bbops.base.render import printable
from bbops.review.plan.codes import CODES, Finding
from bbops.review.plan.plan import Document, Plan
from bbops.review.plan.render import phrases

WIDTH = 100

_RISKS = {"safe": "green", "depends": "yellow", "destructive": "yellow", "impossible": "red"}
_SIGNS = {"+": "green", "~": "yellow", "-": "red", ">": "cyan"}

Lines = Iterator[str]


def render_text(document: Document, *, color: bool = False) -> str:
    """Return a plan as lines of text, without a last line break."""
    text = "\n".join(_lines(document))
    return text if color else click.unstyle(text)


def _lines(document: Document) -> Lines:
    plan = document.plan
    yield printable(phrases.between(document))
    yield _bold(phrases.summary(plan))
    if not document.changes:
        return
    yield from _section("Refused", (_wrapped(why, "  ") for why in plan.verdict.refused), "red")
    yield from _section(phrases.BREAKS, _findings(plan.breaks), "red")
    yield from _section(phrases.ACCESS, _findings(plan.access), "yellow")
    yield from _section(phrases.DATA, _tables(plan))
    yield from _section(phrases.JOBS, _work(plan))
    yield from _section(phrases.NEEDS, (_wrapped(need, "  ") for need in phrases.needs(plan)))
    yield from _section(phrases.ROUTES, _routes(plan))
    yield from _section(phrases.FILES, _files(plan))
    yield ""
    yield _bold(phrases.approvals(plan))
    yield from (_wrapped(reason, "  ") for reason in plan.verdict.reasons)


def _section(title: str, lines: Iterable[str], color: str | None = None) -> Lines:
    found = list(lines)
    if found:
        yield ""
        yield click.style(title, bold=True, fg=color)
        yield from found


def _findings(found: Iterable[Finding]) -> Lines:
    yield from _by_code(
        (finding.code, f"{finding.subject}: {finding.message} ({finding.file}:{finding.line})")
        for finding in found
    )


def _work(plan: Plan) -> Lines:
    yield from _by_code(
        (change.code, f"{change.work}: {phrases.of_jobs(change)} ({change.file}:{change.line})")
        for change in phrases.of_work(plan)
    )


def _by_code(found: Iterable[tuple[str, str]]) -> Lines:
    for code, group in groupby(found, key=itemgetter(0)):
        about = CODES[code]
        yield _wrapped(f"{code}: {about.text}", "  ").replace(code, _bold(code), 1)
        yield from (_wrapped(text, "    ", hang="  ") for _, text in group)
        yield _wrapped(f"hint: {about.cure}", "    ", style=_dim)


def _tables(plan: Plan) -> Lines:
    for change in plan.tables:
        risk = click.style(f"{change.risk:<11}", fg=_RISKS[change.risk], bold=True)
        yield f"  {risk}  " + _wrapped(phrases.of_table(change), " " * 15).lstrip()
        if change.cure and change.risk != "safe":
            yield _wrapped(f"hint: {change.cure}", " " * 15, style=_dim)
    if not plan.looked and any(change.risk != "safe" for change in plan.tables):
        yield _wrapped(phrases.NOBODY_LOOKED, "  ", style=_dim)


def _routes(plan: Plan) -> Lines:
    titles = [f"{route.method} {route.path}" for route in plan.routes]
    rows = zip(plan.routes, titles, strict=True)
    yield from _rows((row.verb, title, phrases.of_route(row)) for row, title in rows)


def _files(plan: Plan) -> Lines:
    yield from _rows(
        (resource.verb, resource.file, phrases.of_resource(resource)) for resource in plan.resources
    )


def _rows(rows: Iterable[tuple[str, str, str]]) -> Lines:
    listed = list(rows)
    widest = min(max((len(name) for _, name, _ in listed), default=0), WIDTH // 2)
    for verb, name, about in listed:
        sign = phrases.SIGNS[verb]
        text = f"{name:<{widest}}  {about}" if about else name
        yield f"  {click.style(sign, fg=_SIGNS[sign])} " + _wrapped(text, " " * 4).lstrip()


def _wrapped(text: str, indent: str, *, hang: str = "", style: Callable[[str], str] = str) -> str:
    """Return user text in lines of our width; a word longer than one line stays whole."""
    wrapped = textwrap.wrap(
        printable(text).replace("\n", " "), WIDTH, initial_indent=indent,
        subsequent_indent=indent + hang, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(map(style, wrapped))


def _bold(text: str) -> str:
    return click.style(text, bold=True)


def _dim(text: str) -> str:
    return click.style(text, dim=True)
