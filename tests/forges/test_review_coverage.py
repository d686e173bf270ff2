"""The pull requests that brought the commits of a branch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bbops_server.forges.values import PullRequest
from bbops_server.process.messages.reviews import ArrivedCommit
from bbops_server.publish.forge_reviews.coverage import Coverage, find_coverage

pytestmark = pytest.mark.quick


def line(*names: str, heads: dict[str, str] | None = None) -> list[ArrivedCommit]:
    """Return commits on top of each other; `heads` names the second parents of merges."""
    parents = ["old", *names]
    return [
        ArrivedCommit(name, (parents[at], *filter(None, [(heads or {}).get(name)])), "", "ada")
        for at, name in enumerate(names)
    ]


def pull(number: int, merged: str, head: str = "head", target: str = "main") -> PullRequest:
    return PullRequest(number, "", "merged", "ada", head, "topic", target, "", merged=merged)


def covered(found: Coverage) -> dict[int, list[str]]:
    return {each.pull.number: [commit.commit for commit in each.commits] for each in found.merged}


def test_merge_commit_and_squash_have_one_commit() -> None:
    commits = line("a", "b", heads={"a": "head"})
    found = find_coverage(commits, {"a": [pull(1, "a")], "b": [pull(2, "b")]}, "main")
    assert covered(found) == {2: ["b"], 1: ["a"]}
    assert [each.has_head for each in found.merged] == [False, True]
    assert found.uncovered == ()


def test_rebased_commits_belong_together() -> None:
    one = pull(1, "c")
    found = find_coverage(line("a", "b", "c"), {"a": [one], "b": [one], "c": [one]}, "main")
    assert covered(found) == {1: ["a", "b", "c"]}
    assert found.merged[0].base == "old"


def test_two_rebases_stay_apart() -> None:
    one, two = pull(1, "b"), pull(2, "d")
    pulls = {"a": [one], "b": [one, two], "c": [two], "d": [two]}
    assert covered(find_coverage(line("a", "b", "c", "d"), pulls, "main")) == {
        2: ["c", "d"], 1: ["a", "b"],
    }  # fmt: skip


def test_commit_without_a_merged_pull_request_is_uncovered() -> None:
    commits = line("a", "b")
    for found in (
        [], [pull(1, "b", target="release")], [replace(pull(1, "b"), state="open")],
        [replace(pull(1, "b"), state="closed")], [pull(1, "x")],
    ):  # fmt: skip
        coverage = find_coverage(commits, {"a": [pull(9, "a")], "b": found}, "main")
        assert [each.commit for each in coverage.uncovered] == ["b"]


def test_direct_push_between_rebased_commits_is_uncovered() -> None:
    one = pull(1, "c")
    coverage = find_coverage(line("a", "b", "c"), {"a": [one], "b": [], "c": [one]}, "main")
    assert covered(coverage) == {1: ["c"]}
    assert [each.commit for each in coverage.uncovered] == ["b", "a"]


def test_pull_request_whose_head_was_merged_is_preferred() -> None:
    commits = line("a", heads={"a": "top"})
    pulls = {"a": [pull(1, "a", "below"), pull(2, "a", "top")]}
    assert covered(find_coverage(commits, pulls, "main")) == {2: ["a"]}


@pytest.mark.parametrize("merged", ["head", "other"])
def test_merge_by_hand_is_found_by_its_head(merged: str) -> None:
    commits = line("a", heads={"a": "head"})
    assert covered(find_coverage(commits, {"a": [pull(1, merged)]}, "main")) == {1: ["a"]}
    forward = line("x", "head")
    pulls = {"x": [pull(1, merged)], "head": [pull(1, merged)]}
    assert covered(find_coverage(forward, pulls, "main")) == {1: ["x", "head"]}


def test_octopus_merge_is_uncovered() -> None:
    commits = [ArrivedCommit("a", ("old", "x", "y"), "", "ada")]
    assert find_coverage(commits, {"a": [pull(1, "a", "x")]}, "main").merged == ()


def test_rebase_that_the_forge_names_by_its_last_commit_has_a_known_size() -> None:
    one, two = replace(pull(1, "b"), commits=2), replace(pull(2, "e"), commits=2)
    named = {"b": [one], "e": [two]}
    found = find_coverage(line("a", "b", "c", "d", "e"), named, "main")
    assert covered(found) == {2: ["d", "e"], 1: ["a", "b"]}
    assert [commit.commit for commit in found.uncovered] == ["c"]
    merge = find_coverage(line("a", "b", heads={"b": "head"}), named, "main")
    assert covered(merge) == {1: ["b"]}
