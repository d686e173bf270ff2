"""Pages of a project's resources: outlines, links, icons, and the text of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from http import HTTPStatus
from typing import Annotated, Any, Final, Generic, Protocol, TypeVar
from urllib.parse import quote, urlencode

from litestar.params import QueryParameter
from litestar.response import Template

from bbops.base.errors import BbopsError
from bbops.base.names import INLINE
from bbops.review.outline.outline import Outline, StepOutline
from bbops_server.control_plane.web.frame import asked_draft
from bbops_server.control_plane.web.outlines import CommitOutline
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.visit import Visit

MAX_ROWS: Final = 200
"""Rows of a list on one page."""
MAX_SIMILAR: Final = 5

Search = Annotated[str, QueryParameter(name="q", max_length=200)]
PageNumber = Annotated[int, QueryParameter(name="page", ge=1, le=100_000)]
TabName = Annotated[str, QueryParameter(name="tab", max_length=40)]


class NamedResource(Protocol):
    """A resource of an outline."""

    @property
    def name(self) -> str: ...


R = TypeVar("R", bound=NamedResource)


@dataclass(frozen=True, slots=True)
class ResourceList(Generic[R]):
    """The rows of a page of a list.

    Attributes:
        query: the text of the filter.
        total: the number of resources that match the filter.
        first: the number of the first row.
        previous: the URL of the previous page; empty on the first one. `next` likewise.
    """

    rows: Sequence[R]
    query: str
    total: int
    first: int
    previous: str
    next: str


@dataclass(frozen=True, slots=True)
class OutlinePage:
    """A page about the live commit or a draft.

    Attributes:
        draft: the slug of the draft; empty for live.
        found: the outline, or the errors of the commit.
    """

    visit: Visit
    project: str
    draft: str
    found: CommitOutline

    @classmethod
    async def open(cls, visit: Visit, project: str) -> OutlinePage:
        """Return the page of a project, or of the draft in the query.

        Raises:
            NotFoundException: the project or the draft does not exist.
        """
        slug = visit.control.outlines.find_slug(project, asked_draft(visit))
        return cls(visit, project, slug, await visit.control.outlines.find(project, slug))

    @property
    def outline(self) -> Outline | None:
        """The outline; None if the commit has errors."""
        return self.found.outline

    @property
    def links(self) -> OutlineLinks:
        """The links to other pages."""
        return OutlineLinks(self.project, self.draft)

    def show(self, template: str, status: int = 200, /, **context: Any) -> Template:
        """Return a page."""
        known = {
            "project": self.project, "draft": self.draft, "link": self.links, "sign": sign_of,
            "spans": spans_of, "outline": self.outline,
        }  # fmt: skip
        return self.visit.page(template, status, **known, **context)

    def show_errors(self, title: str) -> Template:
        """Return the page of a commit that has no outline."""
        return self.show(
            "unreadable", heading=title, message=self.found.message,
            diagnostics=self.found.diagnostics,
        )  # fmt: skip

    async def read(self, file: str) -> str | None:
        """Return the text of a file of the outline; None if it cannot be shown."""
        return await read_project_file(self.visit, self.project, self.draft, self.outline, file)

    def pick(self, name: str, resources: Sequence[R]) -> R | None:
        """Return a resource by the name in a path; None if it does not exist."""
        name = name.strip("/")
        return next((resource for resource in resources if resource.name == name), None)

    def show_missing(
        self, kind: str, name: str, resources: Sequence[NamedResource], url: Callable[[str], str]
    ) -> Template:
        """Return the page for an unknown name, with the similar names.

        Args:
            kind: the kind of the resource, which is also the path of its list without `s`.
            name: the name in the path.
            resources: the resources of this kind.
            url: returns the page of one of them.
        """
        name = name.strip("/")[:200]
        names = [resource.name for resource in resources]
        near = get_close_matches(name, names, n=MAX_SIMILAR, cutoff=0.5)
        links = [(similar, url(similar)) for similar in near]
        return self.show("missing", HTTPStatus.NOT_FOUND, kind=kind, name=name, similar=links)

    def list_rows(
        self, path: str, resources: Sequence[R], query: str, number: int,
        text: Callable[[R], str],
    ) -> ResourceList[R]:  # fmt: skip
        """Return the resources that have all words of a query, as a page of a list.

        Args:
            path: the path of the list below the project.
            resources: the resources, in their order.
            query: the words; empty for all resources.
            number: the number of the page, from 1.
            text: returns the text of a resource to search in.
        """
        words = query.lower().split()
        matching = [row for row in resources if _has(text(row).lower(), words)]
        first = (number - 1) * MAX_ROWS
        pages = {"previous": number - 1 if first else 0, "next": 0}
        if first + MAX_ROWS < len(matching):
            pages["next"] = number + 1
        urls = self._urls(path, query, pages)
        rows = matching[first : first + MAX_ROWS]
        return ResourceList(rows, query, len(matching), first + 1, urls["previous"], urls["next"])

    def _urls(self, path: str, query: str, pages: Mapping[str, int]) -> dict[str, str]:
        return {
            key: self.links.to(path, q=query, page=number) if number else ""
            for key, number in pages.items()
        }


def _has(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)


_PLACE: Final = re.compile(r"([^:]{1,400}\.yaml):([0-9]{1,9})(?::[0-9]+)?")


@dataclass(frozen=True, slots=True)
class OutlineLinks:
    """URLs of the pages of a project.

    Attributes:
        project: the name of the project.
        draft: the slug of a draft; empty for live.
    """

    project: str
    draft: str = ""

    @property
    def query(self) -> str:
        """The query that stays in the draft; empty for live."""
        return f"?in={quote(self.draft)}" if self.draft else ""

    def to(self, path: str, **query: str | int) -> str:
        """Return the URL of a page below the project, with query parameters that are not empty."""
        given = {key: value for key, value in query.items() if value not in {"", 0}}
        if self.draft:
            given["in"] = self.draft
        text = f"?{urlencode(given)}" if given else ""
        return f"/projects/{quote(self.project)}/{quote(path)}{text}"

    def endpoint(self, name: str, tab: str = "") -> str:
        """Return the page of an endpoint."""
        return self.to(f"endpoints/{name}", tab=tab)

    def function(self, name: str) -> str:
        """Return the page of a function; of inline steps, the page of their endpoint."""
        if name.startswith(INLINE):
            return self.endpoint(name.removeprefix(INLINE), "function")
        return self.to(f"functions/{name}")

    def table(self, name: str) -> str:
        """Return the page of a table."""
        return self.to(f"tables/{name}")

    def channel(self, name: str) -> str:
        """Return the page of a channel."""
        return self.to(f"channels/{name}")

    def variable(self, name: str) -> str:
        """Return the place of a variable on the page of values."""
        return f"{self.to('values')}#{quote(name)}"

    def addon(self, name: str) -> str:
        """Return the place of an addon on the page of addons."""
        return f"{self.to('addons')}#{quote(name)}"

    def request(self, number: int) -> str:
        """Return the page of a recorded request."""
        return self.to(f"requests/{number}")

    def playground(self, endpoint: str) -> str:
        """Return the Playground of an endpoint."""
        return self.to(f"playground/{endpoint}")

    def of(self, draft: str) -> OutlineLinks:
        """Return the links of a draft, or of live if it is empty."""
        return OutlineLinks(self.project, draft)

    def place(self, text: str) -> str:
        """Return the page of a place such as `functions/greet.yaml:4`; empty for other texts."""
        found = _PLACE.fullmatch(text)
        return self.source(found[1], int(found[2])) if found else ""

    def source(self, file: str, line: int = 0) -> str:
        """Return the page of a file, at a line."""
        return self.to(f"files/{file}") + (f"#L{line}" if line else "")


_SIGNS: Final = {
    "find": ("table", "db"), "insert": ("plus", "db"), "update": ("check", "db"),
    "delete": ("cross", "db"), "sql": ("log", "db"), "transaction": ("lock", "db"),
    "if": ("if", "flowy"), "switch": ("if", "flowy"), "loop": ("loop", "flowy"),
    "parallel": ("flow", "flowy"), "try": ("warn", "flowy"), "call": ("route", "flowy"),
    "wait": ("clock", "flowy"), "return": ("return", "end"), "throw": ("cross", "end"),
    "http": ("globe", "out"), "send": ("send", "out"), "publish": ("live", "out"),
    "emit": ("pulse", "out"), "enqueue": ("clock", "out"), "log": ("book", ""),
    "validate": ("check", ""), "html": ("log", ""),
}  # fmt: skip
_KEYS: Final = ("Password", "Token", "ApiKey", "Jwt")
"""Parts of the names of steps that handle credentials."""


def sign_of(step: StepOutline) -> tuple[str, str]:
    """Return the icon of a step and its tone; the tone of a plain step is empty."""
    if step.key in _SIGNS:
        return _SIGNS[step.key]
    if step.addon:
        return "plug", "out"
    return ("key", "") if any(part in step.key for part in _KEYS) else ("grip", "")


# ---- The colours of YAML: keys, expressions and comments of a line

MAX_COLOURED: Final = 2_000
"""Characters of a line; a longer one has no colours."""
_KEY: Final = re.compile(r"""(\s*(?:-\s+)*)('[^']*'|"[^"]*"|[\w.?*/-]+)(:)(?=\s|$)""")
_PART: Final = re.compile(r"(?P<v>\$\{[^}]*\})|(?P<c>(?:^|(?<=\s))#.*)")


def spans_of(line: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a line as (class, text): `k` keys, `v` expressions, `c` comments.

    Lines are coloured on their own, so that prose of a block may look like a key.
    """
    if len(line) > MAX_COLOURED:
        yield "", line
        return
    rest = line
    if match := _KEY.match(line):
        yield "", match[1]
        yield "k", match[2]
        yield "", match[3]
        rest = line[match.end() :]
    end = 0
    for part in _PART.finditer(rest):
        yield "", rest[end : part.start()]
        yield part.lastgroup or "", part[0]
        end = part.end()
    yield "", rest[end:]


async def read_project_file(
    visit: Visit, name: str, slug: str, outline: Outline | None, path: str
) -> str | None:
    """Return the text of a file of the live commit or of a draft.

    Returns:
        None if the outline does not name the file, or if the file exceeds 1 MB.

    Raises:
        HTTPException: the commit cannot be read.
    """
    if outline is None or path not in outline.files:
        return None
    try:
        if slug:
            return await visit.control.outlines.drafts_of(name).read_file(slug, path)
        return await visit.control.status.read_file(name, path)
    except BbopsError as error:
        raise refuse(error) from None
