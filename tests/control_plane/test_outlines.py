"""Outlines over the API, and their cache."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from litestar.exceptions import NotFoundException

from bbops.base.errors import ServerError
from bbops.interfaces.answers import Status
from bbops_server.control_plane.web.outlines import MAX_OUTLINES, CommitOutline, OutlineCache
from bbops_server.process.messages.builds import WrittenOutline
from tests.support.control import OneProject, Tried, tried
from tests.support.outlines import outline
from tests.support.small_project import FILES

__all__ = ["tried"]

OUTLINE = "/api/projects/small/outline"
DRAFT = "/api/projects/small/drafts/slug"
BROKEN = {
    **FILES,
    "endpoints/add.yaml": FILES["endpoints/add.yaml"].replace("function: add", "function: ad"),
}


def read(tried: Tried, path: str) -> Any:
    """Return the JSON answer to the owner."""
    browser = tried.as_person("ada@example.com")
    return browser.call("GET", path, headers={"accept": "application/json"}).json()


class Projects(OneProject):
    """Projects by any name, each with a revision and slow or failing outlines."""

    def __init__(self) -> None:
        super().__init__()
        self.revision = "main@sha1:a"
        self.names = ["small"]

    def projects(self) -> list[Status]:
        (status,) = super().projects()
        return [
            msgspec.structs.replace(status, name=name, applied_revision=self.revision)
            for name in self.names
        ]

    async def outline(self, name: str) -> WrittenOutline | None:
        await asyncio.sleep(0)
        rendered = await super().outline("small")
        self.asked[-1] = f"outline of {name}"
        return rendered


# ---- API
def test_outline_of_the_live_commit_is_json(tried: Tried) -> None:
    answer = read(tried, OUTLINE)
    assert (answer["commit"], answer["diagnostics"], answer["message"]) == ("a" * 40, [], "")
    found = msgspec.convert(answer, CommitOutline)
    assert found.outline == outline(FILES)


def test_outline_of_a_draft_with_errors_has_its_diagnostics(tried: Tried) -> None:
    tried.source.draft_files = BROKEN
    answer = read(tried, f"{DRAFT}/outline")
    assert answer["outline"] is None
    (error,) = [found for found in answer["diagnostics"] if found["severity"] == "error"]
    assert (error["code"], error["file"], error["line"]) == (
        "unknown-function", "endpoints/add.yaml", 3,
    )  # fmt: skip
    assert read(tried, OUTLINE)["outline"] is not None


@pytest.mark.parametrize(
    "path", ["/api/projects/x/outline", "/api/projects/small/drafts/x/outline"]
)
def test_unknown_project_or_draft_is_404(tried: Tried, path: str) -> None:
    assert read(tried, path)["error"]["code"] == "notFound"


def test_draft_is_found_by_its_branch(tried: Tried) -> None:
    by_branch = "/api/projects/small/drafts/topic"
    for call in ("outline", "file?path=functions/add.yaml", "variables"):
        assert read(tried, f"{by_branch}/{call}") == read(tried, f"{DRAFT}/{call}")


def test_file_of_the_outline_can_be_read(tried: Tried) -> None:
    answer = read(tried, "/api/projects/small/file?path=functions/add.yaml")
    assert answer == {"path": "functions/add.yaml", "text": FILES["functions/add.yaml"]}
    tried.source.draft_files = {**FILES, "functions/add.yaml": FILES["functions/list.yaml"]}
    draft = read(tried, f"{DRAFT}/file?path=functions/add.yaml")
    assert draft["text"] == FILES["functions/list.yaml"]


@pytest.mark.parametrize("path", ["../secret", "README.md", "functions/none.yaml", ".git/config"])
def test_other_files_cannot_be_read(tried: Tried, path: str) -> None:
    tried.source.files = {**FILES, "README.md": "Hello"}
    answer = read(tried, f"/api/projects/small/file?path={path}")
    assert answer["error"]["message"] == (f"the outline of project 'small' names no file '{path}'")


def test_variables_have_states_and_no_values(tried: Tried) -> None:
    tried.source.files = {
        **FILES,
        "project.yaml": "bbops: 1\nname: small\nenv:\n  A: { secret: true }\n  B: {}\n"
        "  C: { required: false }\n  GREETING: { default: hello }\n  M: { generate: true }\n",
    }
    tried.source.values = frozenset({"B"})
    variables = {
        variable["name"]: variable for variable in read(tried, "/api/projects/small/variables")
    }
    states = {name: variable["state"] for name, variable in variables.items()}
    assert states == {
        "A": "missing", "B": "set", "C": "optional", "GREETING": "default", "M": "generated",
    }  # fmt: skip
    assert variables["A"]["command"] == "bbops env set A"
    assert variables["GREETING"]["uses"] == [{"file": "functions/hello.yaml", "line": 2}]
    assert "hello'" not in str(variables)
    draft = read(tried, f"{DRAFT}/variables")
    assert draft[0]["command"] == "bbops env set GREETING --drafts"


# ---- cache
def find(cache: OutlineCache, *names: str, slug: str = "") -> list[CommitOutline]:
    """Return the outlines of projects, requested at the same time."""

    async def find_all() -> list[CommitOutline]:
        return await asyncio.gather(*(cache.find(name, slug) for name in names))

    return asyncio.run(find_all())


def test_requests_at_the_same_time_read_one_outline() -> None:
    source = Projects()
    cache = OutlineCache(lambda: source)
    found = find(cache, *["small"] * 20)
    assert all(each is found[0] for each in found)
    assert source.asked == ["outline of small"]
    find(cache, "small")
    assert source.asked == ["outline of small"]


def test_new_revision_is_read_again() -> None:
    source = Projects()
    cache = OutlineCache(lambda: source)
    find(cache, "small")
    source.revision, source.files = "main@sha1:b", {"project.yaml": "bbops: 1\nname: small\n"}
    known = cache.peek("small")
    assert known is not None
    assert known.counts["endpoints"] == 4
    (found,) = find(cache, "small")
    assert found.outline is not None
    assert (found.outline.counts["endpoints"], cache.peek("small")) == (0, found.outline)


def test_failed_reading_is_reported_and_repeated() -> None:
    source = Projects()
    source.error = ServerError("nothing is live yet", hint="push a commit")
    cache = OutlineCache(lambda: source)
    (failed,) = find(cache, "small")
    assert (failed.outline, failed.message) == (None, "nothing is live yet; push a commit")
    assert failed.diagnostics == []
    source.error = None
    (found,) = find(cache, "small")
    assert found.outline is not None


def test_oldest_outline_is_dropped() -> None:
    source = Projects()
    source.names = [f"p{number}" for number in range(MAX_OUTLINES + 1)]
    cache = OutlineCache(lambda: source)
    for name in source.names[:-1]:
        find(cache, name)
    find(cache, "p0")
    find(cache, source.names[-1])
    assert cache.peek("p0") is not None
    assert cache.peek("p1") is None


def test_cancelled_request_does_not_cancel_the_others() -> None:
    source = Projects()
    cache = OutlineCache(lambda: source)

    async def leave() -> CommitOutline:
        leaving = asyncio.create_task(cache.find("small"))
        await asyncio.sleep(0)
        staying = asyncio.create_task(cache.find("small"))
        await asyncio.sleep(0)
        leaving.cancel()
        return await staying

    assert asyncio.run(leave()).outline is not None
    assert source.asked == ["outline of small"]


def test_unknown_names_raise() -> None:
    cache = OutlineCache(Projects)
    with pytest.raises(NotFoundException, match="there is no project 'none'"):
        find(cache, "none")
    with pytest.raises(NotFoundException, match="project 'small' has no draft 'none'"):
        find(cache, "small", slug="none")
