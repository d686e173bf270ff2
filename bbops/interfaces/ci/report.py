"""The work of `bbops ci report`: one Markdown document of the results of earlier commands."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bbops.base.errors import BbopsError
from bbops.interfaces.ci.comments import (
    TOKENS,
    CommentForbidden,
    CommentState,
    find_token,
    open_api,
    upsert_comment,
)
from bbops.interfaces.ci.reporting import write_summary
from bbops.interfaces.ci.results import ReportSection
from bbops.interfaces.ci.run import CiRun
from bbops.review.plan.render.markdown import code, escape

MAX_CHARACTERS: Final = 60_000
"""The limit of GitHub is 65,536."""

_ROWS: Final = (200, 100, 50, 30, 20, 10, 5, 3, 1)
_ODD: Final = re.compile(r"[^A-Za-z0-9_./-]+")
_SHORT: Final = 12


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """A report.

    Attributes:
        project: the name of the project.
        marker: the beginning of the text, which names the project and its folder.
        digest: a line that changes with the content, except for the link to the run.
        markdown: the text, with marker and digest.
    """

    project: str
    marker: str
    digest: str
    markdown: str


def make_document(
    sections: Sequence[ReportSection],
    under: str,
    *,
    url: str = "",
    marker: str = "bbops ci",
    max_characters: int = MAX_CHARACTERS,
) -> ReportDocument:
    """Return the report of several results; rows that do not fit are counted.

    Args:
        sections: at least one.
        under: the project's folder, relative to the repository's root; empty for the root.
        url: the page of the job's run; empty without one.
        marker: the author of the report, whose marker begins with it.
        max_characters: the limit of the text.
    """
    project = sections[0].project
    begin = _marker(marker, project, under)
    content = _content(sections, project, under, max_characters - 1_000)
    digest = f"<!-- bbops digest: {hashlib.sha256(content.encode()).hexdigest()[:32]} -->"
    link = f"\n\n<sub>[run]({url})</sub>" if url and "(" not in url else ""
    return ReportDocument(project, begin, digest, f"{begin}\n{digest}\n\n{content}{link}\n")


def render_section(section: ReportSection, rows: int) -> str:
    """Return one part of a report in Markdown."""
    head = f"### {section.title}: {escape(section.headline)}"
    return "\n\n".join([head, *section.details(rows)])


def comment_on(
    run: CiRun, document: ReportDocument, env: Mapping[str, str]
) -> tuple[CommentState | Literal[""], str]:
    """Write a report as the comment of a proposal, or into the summary without the permission.

    Args:
        run: the run of the job.
        document: the report.
        env: the variables with the token.

    Returns:
        The state of the comment, and a warning if there is no comment.

    Raises:
        BbopsError: there is no token, the forge cannot be reached, or it rejects the request.
    """
    token = find_token(run, env)
    if not run.number:
        return "", "the job is not about a proposal, so there is no comment"
    try:
        if not token:
            raise _missing_token(run)
        api = open_api(run, token)
        marker, digest = document.marker, document.digest
        return upsert_comment(api, marker, digest, document.markdown), ""
    except CommentForbidden as error:
        write_summary(run, document.markdown)
        place = "; the report is in the summary of the step" if run.summary else ""
        return "", f"{error.message}{place}"


def _missing_token(run: CiRun) -> BbopsError:
    """Return the error for a job without a token, which jobs of forks do not get."""
    name = TOKENS[run.forge][0]
    message = f"{name} is not set"
    if run.is_fork:
        return CommentForbidden(f"the job may not comment: {message}")
    return BbopsError(message, hint=f"pass the token of the job in the variable {name}")


def _marker(author: str, project: str, under: str) -> str:
    name, folder = (_ODD.sub("-", text).replace("--", "-") for text in (project, under))
    return f"<!-- {author}: {name} in {folder} -->" if folder else f"<!-- {author}: {name} -->"


def _content(sections: Sequence[ReportSection], project: str, under: str, limit: int) -> str:
    head = "\n\n".join(_head(sections, project, under))
    for rows in _ROWS:
        parts = (render_section(section, rows) for section in sections)
        text = "\n\n".join([head, *parts])
        if len(text) <= limit:
            return text
    return f"{head}\n\nThe details are too long for a comment; the summary of the run has them."


def _head(sections: Sequence[ReportSection], project: str, under: str) -> Iterator[str]:
    folder = f" in {code(under)}" if under else ""
    yield f"## {escape(project)}{folder}"
    rows = [f"| {_state(section)} | {escape(section.headline)} |" for section in sections]
    yield "\n".join(["| | |", "| --- | --- |", *rows])
    commits = dict.fromkeys(section.commit[:_SHORT] for section in sections if section.commit)
    if commits:
        yield f"<sub>commit {', '.join(map(code, commits))}</sub>"


def _state(section: ReportSection) -> str:
    return section.title if section.is_ok else f"**{section.title}: failed**"
