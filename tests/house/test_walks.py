"""Which rooms a request, a commit, a file, a proposal and an env value pass, by real traces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.house.walk import HELLO, Walks, rooms

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walks]:
    with Walks(tmp_path_factory.mktemp("walks")) as walks:
        yield walks


def passed(walks: Walks, name: str) -> dict[str, list[str]]:
    """Return the files that one passes, by room."""
    found: dict[str, list[str]] = {}
    for room, files in rooms(walks.walk(getattr(walks, name))):
        found.setdefault(room, []).extend(files)
    return found


def test_a_request_passes_what_serves_and_what_runs_and_nothing_else(walks: Walks) -> None:
    every = [set(passed(walks, "request")) for _ in range(2)]
    assert set.intersection(*every) <= {  # what happens now and then is not the request's
        "bbops_server.process", "bbops_server.data_plane", "bbops.runtime", "bbops.database",
        "bbops.base",
    }  # fmt: skip


def test_a_file_passes_no_server(walks: Walks) -> None:
    first, second = (set(passed(walks, "file")) for _ in range(2))
    assert {"bbops.interfaces", "bbops.source", "bbops.language", "bbops.compiler"} <= first
    # what a server does now and then is not the file's
    assert not [one for one in first & second if one.startswith("bbops_server")]


def test_a_commit_passes_the_stages_of_a_publication(walks: Walks) -> None:
    found = passed(walks, "commit")
    assert {"push", "publishing"} <= set(found["bbops_server.git_http"])
    assert "compile.release" in found["bbops.compiler"]
    assert "live.swap" in found["bbops_server.data_plane"]
    assert "bbops_server.mcp" not in found
    assert walks.hello().json()["version"] == HELLO


def test_a_proposal_is_planned_and_changes_nothing_that_is_live(walks: Walks) -> None:
    before = walks.live
    found = passed(walks, "proposal")
    assert "plan.plan" in found["bbops.review"]
    assert walks.live == before


def test_an_env_value_that_live_reads_publishes_it_anew(walks: Walks) -> None:
    found = passed(walks, "env")
    assert "env" in found["bbops_server.commands"]
    assert walks.hello().json()["text"] == "hi"
    assert "live.swap" in found["bbops_server.data_plane"]
