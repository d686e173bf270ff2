"""Pages of a project's resources: the outline that they show, lists and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from http import HTTPStatus
from typing import Annotated, Any, Final, Generic, Protocol, TypeVar

from litestar.params import QueryParameter
from litestar.response import Template

from bbops.review.outline.outline import Outline
from bbops_server.control_plane.web.frame import asked_draft
from bbops_server.control_plane.web.outline_links import OutlineLinks
from bbops_server.control_plane.web.outlines import CommitOutline
from bbops_server.control_plane.web.project_files import read_project_file
from bbops_server.control_plane.web.step_signs import sign_of
from bbops_server.control_plane.web.visit import Visit
from bbops_server.control_plane.web.yaml_spans import spans_of

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
