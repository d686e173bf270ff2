"""Projects that share a repository: versions belong to one each, and others change nothing."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.support.one_repository import BRANCHES, PATHS, SHARED, OneRepository
from tests.support.patience import wait_for
from tests.support.served import git
from tests.support.small_project import hello

pytestmark = pytest.mark.long

RESTARTS = int(os.environ.get("BBOPS_RESTARTS", "6"))


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneRepository]:
    at = OneRepository(tmp_path_factory.mktemp("shared"))
    yield at
    assert at.served.stop() == 0


def names(at: OneRepository, project: str) -> list[str]:
    return [one["name"] for one in at.versions(project)]


def test_two_branches_of_a_repository_have_versions_of_their_own(at: OneRepository) -> None:
    before = {one: names(at, one) for one in BRANCHES}
    commits = {one: at.publish(one, 100 + number) for number, one in enumerate(BRANCHES)}
    for project, commit in commits.items():
        newest, *rest = at.versions(project)
        assert (newest["commit"], [one["name"] for one in rest]) == (commit, before[project])
        assert newest["name"].startswith(f"bbops/{project}/v")
        assert newest["facts"]["Project"] == project
        assert newest["facts"]["Folder"] == (PATHS[project] or ".")


def test_only_what_was_live_in_a_project_can_be_gone_back_to(at: OneRepository) -> None:
    at.publish("next", 201)
    other = at.publish("next", 202)
    (newest, *_) = at.versions("next")
    before = git(at.bare("shop"), "rev-parse", "main")
    for name in (newest["name"], "v999"):
        done = at.roll_back("shop", name)
        assert done.returncode == 2
        assert f"there is no version '{name}'" in done.stderr
        assert "'bbops versions' lists them" in done.stderr
    assert git(at.bare("shop"), "rev-parse", "main") == before
    assert newest["commit"] == other


def test_a_commit_that_changes_another_project_publishes_nothing(at: OneRepository) -> None:
    at.publish("left", 301)
    before, told = names(at, "left"), at.served.told("left")
    commit = at.publish("right", 302)
    now = at.wait("left", commit)
    assert now["attempted_revision"] == f"main@sha1:{commit}"
    assert now["applied_revision"] == told["applied_revision"] != now["attempted_revision"]
    assert now["publications"] == told["publications"]
    assert names(at, "left") == before
    ready = next(one for one in now["conditions"] if one["type"] == "Ready")
    assert "does not change this project" in ready["message"]
    answer = at.served.ask("/left/hello")
    assert answer.headers["x-release"] == told["release"]
    assert at.served.bbops("status", "left").returncode == 0


def test_what_is_decided_beside_git_goes_live_after_a_commit_of_others(at: OneRepository) -> None:
    at.wait("left", at.publish("right", 401))
    before = names(at, "left")
    state = ("--state", str(at.served.state), "--project", "left")
    assert at.served.bbops("env", "set", "GREETING", "moin", *state).returncode == 0
    wait_for(lambda: at.served.ask("/left/hello").json()["text"] == "moin")
    assert names(at, "left") == before


def test_a_mistake_that_is_taken_back_is_nothing_new(at: OneRepository) -> None:
    good = at.publish("left", 501)
    before = names(at, "left")
    at.commit("left", {"left/functions/hello.yaml": "steps: [\n"})
    wait_for(lambda: at.served.reason("left") == "ProjectInvalid")
    back = at.commit("left", {"left/functions/hello.yaml": hello(501)["functions/hello.yaml"]})
    now = at.wait("left", back)
    assert now["applied_revision"] == f"main@sha1:{good}"
    assert now["diagnostics"] == []
    assert names(at, "left") == before


def test_an_empty_commit_is_published_and_is_no_version(at: OneRepository) -> None:
    before = names(at, "shop")
    commit = at.commit("shop", {})
    now = at.wait("shop", commit)
    assert now["applied_revision"] == f"main@sha1:{commit}"
    assert (now["version"], names(at, "shop")) == (before[0], before)


def old_tags(at: OneRepository) -> list[str]:
    """Give the versions that there are the tags that they once had; return their numbers."""
    for tag in at.tags("shop"):
        text = git(at.bare("shop"), "for-each-ref", "--format=%(contents)", f"refs/tags/{tag}")
        kept = "\n".join(one for one in text.split("\n") if one[:7] not in {"Project", "Folder:"})
        number = len([one for one in at.tags("shop") if one.startswith("v")]) + 1
        git(at.bare("shop"), "tag", "-a", "-m", kept, f"v{number}", f"{tag}^{{}}")
        git(at.bare("shop"), "tag", "-d", tag)
    return at.tags("shop")


def test_old_tags_stay_versions_of_the_project_they_were_made_for(at: OneRepository) -> None:
    at.publish("shop", 601)
    at.publish("next", 602)
    count = {one: len(at.versions(one)) for one in ("shop", "next")}
    at.served.stop()
    for project in ("shop", "next"):  # as of a server that was moved
        (at.served.state / "projects" / project / "publications.jsonl").unlink()
    tags = old_tags(at)
    at.served = at.start()
    assert at.tags("shop") == tags
    found = {one: at.versions(one) for one in ("shop", "next")}
    assert {one: len(found[one]) for one in found} == count
    assert {each["name"] for one in found for each in found[one]} == set(tags)
    for project, versions in found.items():
        told = {each["facts"]["Revision"].partition("@")[0] for each in versions}
        assert told == {BRANCHES[project]}
    first, last = found["shop"][-1]["name"], found["shop"][0]["number"]
    done = at.roll_back("shop", first)
    assert done.returncode == 0, done.stderr
    assert names(at, "shop")[0] == f"bbops/shop/v{last + 1}"


def test_restarts_and_publications_mint_one_version_for_each_change(
    at: OneRepository,
) -> None:
    choose = random.Random(15)
    went_live: dict[str, list[str]] = {one: [] for one in BRANCHES}
    before = {one: names(at, one) for one in BRANCHES}
    for number in range(RESTARTS):
        project = choose.choice(list(BRANCHES))
        went_live[project].append(at.publish(project, 1_000 + number))
        others = at.commit(choose.choice(["left", "right"]), {f"docs/{number}.md": "Read.\n"})
        tags = at.tags("shop") + at.tags("left")
        at.restart()
        for one in ("left", "right"):
            at.wait(one, others)
        assert at.tags("shop") + at.tags("left") == tags
    found: dict[str, list[dict[str, Any]]] = {one: at.versions(one) for one in BRANCHES}
    for project, commits in went_live.items():
        new = found[project][: len(found[project]) - len(before[project])]
        assert [one["commit"] for one in reversed(new)] == commits
        folder = f":{PATHS[project]}"
        trees = [git(at.bare(project), "rev-parse", one["commit"] + folder)
                 for one in found[project]]  # fmt: skip
        assert all(one != next_ for one, next_ in pairwise(trees))
    every = [one["name"] for project in BRANCHES for one in found[project]]
    assert sorted(every) == sorted(at.tags("shop") + at.tags("left"))
    assert len(every) == len(set(every))


def test_another_name_of_tags_holds_for_what_is_new(at: OneRepository) -> None:
    before = names(at, "shop")
    at.served.change(f"versionTag: live/{{project}}/v{{number}}\n{SHARED}")
    at.served.until("applied")
    number = int(before[0].rpartition("v")[2])
    at.publish("shop", 701)
    assert names(at, "shop") == [f"live/shop/v{number + 1}", *before]
