"""Merge requests of GitLab: listed, opened, merged, closed and found by a commit."""

from __future__ import annotations

import pytest

from bbops_server.forges.gitlab import GitLabForge
from bbops_server.forges.hosted import ForgeConflict, ForgeForbidden, ForgeGone, ForgeRejected
from bbops_server.forges.values import NewPullRequest, PullRequest
from tests.support.github.connected import Run
from tests.support.github.facts import Pull
from tests.support.github.world import push
from tests.support.gitlab.connected import BOT
from tests.support.gitlab.server import GitLabServer
from tests.support.gitlab.world import GitLabWorld
from tests.support.served import git

pytestmark = pytest.mark.long

WISH = NewPullRequest("topic", "main", "Add a", "Because.\n/merge")


def propose(world: GitLabWorld, branch: str = "topic", **options: str) -> Pull:
    push(world.repo, branch, {f"{branch}.txt": branch}, who="bea")
    return world.open_pull("bea", branch, f"Add {branch}", **options)


def test_open_merge_requests_of_a_branch_are_listed_page_by_page(
    world: GitLabWorld, gitlab: GitLabServer, forge: GitLabForge, run: Run
) -> None:
    gitlab.page_size = 1
    first = propose(world)
    push(world.repo, "stable", {"s.txt": "s"})
    propose(world, "fix", target="stable")
    propose(world, "two")
    world.close(propose(world, "closed").number)
    listed = run(forge.list_open("main"))
    assert [pull.number for pull in listed] == [3, 1]
    assert listed[1] == PullRequest(
        1, "Add topic", "open", "bea", first.head, "topic", "main",
        f"{gitlab.url}/acme/backend/shop/-/merge_requests/1",
    )  # fmt: skip
    path = "/v4/projects/1001/merge_requests"
    assert gitlab.paths() == ["GET /v4/projects/acme%2Fbackend%2Fshop", *[f"GET {path}"] * 2]


def test_head_of_a_fork_is_in_the_git_of_the_project(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    fork = world.fork("mallory")
    head = push(fork, "topic", {"a.txt": "a"}, who="mallory")
    world.open_pull("mallory", "topic", home=fork)
    (pull,) = run(forge.list_open("main"))
    assert (pull.is_fork, pull.head) == (True, head)
    ref = forge.pull_ref.format(number=pull.number)
    assert git(world.repo.path, "rev-parse", ref).strip() == head
    assert run(forge.find("topic", "main")) is None


def test_merge_request_is_opened_once_without_commands_and_found(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    head = push(world.repo, "topic", {"a.txt": "a"})
    opened = run(forge.open(WISH))
    assert (opened.head, opened.author, opened.body) == (head, BOT, "Because.\n\\/merge")
    assert run(forge.find("topic", "main")) == opened
    with pytest.raises(ForgeConflict, match=r"409: Another open merge request already exists"):
        run(forge.open(WISH))


def test_draft_has_the_prefix_of_its_title(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    opened = run(forge.open(NewPullRequest("topic", "main", "Add a", "", is_draft=True)))
    assert (opened.title, opened.is_draft) == ("Draft: Add a", True)
    with pytest.raises(ForgeConflict, match="merge status is 'draft status'"):
        run(forge.merge(1, opened.head))


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_each_way_to_merge_leads_back_to_the_merge_request(
    world: GitLabWorld, forge: GitLabForge, method: str, run: Run
) -> None:
    world.style = method
    pull = propose(world)
    with pytest.raises(ForgeConflict, match="SHA does not match HEAD"):
        run(forge.merge(1, "1" * 40))
    commit = run(forge.merge(1, pull.head))
    assert git(world.repo.path, "rev-parse", "main").strip() == commit
    (found,) = run(forge.find_merged(commit))
    assert (found.number, found.merged_by, found.merged) == (1, BOT, commit)


def test_each_commit_of_a_fast_forward_leads_to_the_merge_request(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    first = propose(world).head
    push(world.repo, "topic", {"b.txt": "b"})
    world.sync()
    commit = world.merge(1, "ada", "rebase")
    for each in (first, commit):
        assert [found.merged for found in run(forge.find_merged(each))] == [commit]
    assert run(forge.find_merged("1" * 40)) == []


def test_refusal_to_merge_is_not_a_rejected_token(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    pull = propose(world)
    world.repo.roles[BOT] = "read"
    with pytest.raises(ForgeForbidden) as caught:
        run(forge.merge(1, pull.head))
    assert not isinstance(caught.value, ForgeRejected)
    assert "settings of the protected branch" in caught.value.hint
    world.end_tokens()
    with pytest.raises(ForgeRejected):
        run(forge.merge(1, pull.head))


def test_closed_and_missing_merge_requests(
    world: GitLabWorld, forge: GitLabForge, run: Run
) -> None:
    propose(world)
    run(forge.close(1))
    assert run(forge.get(1)).state == "closed"
    with pytest.raises(ForgeGone, match=r"GET /api/v4/projects/1001/merge_requests/7 .* 404"):
        run(forge.get(7))


def test_renamed_project_is_followed_by_reads_and_writes(
    world: GitLabWorld, gitlab: GitLabServer, forge: GitLabForge, run: Run
) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    world.rename("newco/store")
    assert run(forge.open(WISH)).number == 1
    with gitlab.counted() as requests:
        run(forge.comment(1, "x"))
    assert requests == ["POST /v4/projects/1001/merge_requests/1/notes"]
