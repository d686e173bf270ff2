"""Pull requests of Gitea: listed, opened, merged, closed and found by a commit."""

from __future__ import annotations

import pytest

from bbops_server.forges.gitea import GiteaForge
from bbops_server.forges.hosted import ForgeConflict, ForgeGone
from bbops_server.forges.values import NewPullRequest, PullRequest
from tests.support.gitea.server import GiteaServer
from tests.support.gitea.world import GiteaWorld
from tests.support.github.connected import Run
from tests.support.github.facts import Pull
from tests.support.github.world import push
from tests.support.served import git

WISH = NewPullRequest("topic", "main", "Add a", "Because.")


def propose(world: GiteaWorld, branch: str = "topic", **options: str) -> Pull:
    push(world.repo, branch, {f"{branch}.txt": branch}, who="bea")
    return world.open_pull("bea", branch, f"Add {branch}", **options)


def test_open_pull_requests_of_a_branch_are_listed_page_by_page(
    world: GiteaWorld, gitea: GiteaServer, forge: GiteaForge, run: Run
) -> None:
    gitea.page_size = 2
    first = propose(world)
    push(world.repo, "stable", {"s.txt": "s"})
    propose(world, "fix", target="stable")
    propose(world, "two")
    world.close(propose(world, "closed").number)
    listed = run(forge.list_open("main"))
    assert [pull.number for pull in listed] == [3, 1]
    assert listed[1] == PullRequest(
        1, "Add topic", "open", "bea", first.head, "topic", "main",
        f"{gitea.url}/acme/shop/pulls/1",
    )  # fmt: skip
    assert gitea.paths() == ["GET /repos/acme/shop/pulls"] * 2


def test_heads_of_forks_and_heads_without_a_branch_are_of_strangers(
    world: GiteaWorld, forge: GiteaForge, run: Run
) -> None:
    fork = world.fork("mallory")
    head = push(fork, "topic", {"a.txt": "a"}, who="mallory")
    world.open_pull("mallory", "topic", home=fork)
    world.agit("mallory", head)
    listed = run(forge.list_open("main"))
    assert [(pull.is_fork, pull.branch, pull.head) for pull in listed] == [
        (True, "refs/pull/2/head", head), (True, "topic", head),
    ]  # fmt: skip
    assert run(forge.find("topic", "main")) is None


def test_pull_request_is_opened_once_and_found(
    world: GiteaWorld, forge: GiteaForge, run: Run
) -> None:
    head = push(world.repo, "topic", {"a.txt": "a"})
    opened = run(forge.open(WISH))
    assert (opened.head, opened.author, opened.body) == (head, "bbops-bot", "Because.")
    assert run(forge.find("topic", "main")) == opened
    with pytest.raises(ForgeConflict, match=r"409: A pull request already exists"):
        run(forge.open(WISH))


def test_draft_has_the_prefix_of_its_title(world: GiteaWorld, forge: GiteaForge, run: Run) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    opened = run(forge.open(NewPullRequest("topic", "main", "Add a", "", is_draft=True)))
    assert (opened.title, opened.is_draft) == ("WIP: Add a", True)
    with pytest.raises(ForgeConflict, match="Work in progress"):
        run(forge.merge(1, opened.head))


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_merge_uses_the_style_of_the_repository(
    world: GiteaWorld, forge: GiteaForge, method: str, run: Run
) -> None:
    world.style, world.repo.methods = "rebase", (method,)
    pull = propose(world)
    with pytest.raises(ForgeConflict, match="head out of date"):
        run(forge.merge(1, "1" * 40))
    commit = run(forge.merge(1, pull.head))
    assert git(world.repo.path, "rev-parse", "main") == commit
    assert [(found.number, found.merged_by) for found in run(forge.find_merged(commit))] == [
        (1, "bbops-bot")
    ]


def test_last_commit_of_a_rebase_leads_to_the_number_of_its_commits(
    world: GiteaWorld, forge: GiteaForge, run: Run
) -> None:
    propose(world)
    push(world.repo, "topic", {"b.txt": "b"})
    push(world.repo, "main", {"other.txt": "x"})
    world.sync()
    commit = world.merge(1, "ada", "rebase")
    (found,) = run(forge.find_merged(commit))
    assert (found.commits, found.merged) == (2, commit)
    first = git(world.repo.path, "rev-parse", f"{commit}^")
    assert run(forge.find_merged(first)) == []


def test_closed_and_missing_pull_requests(world: GiteaWorld, forge: GiteaForge, run: Run) -> None:
    propose(world)
    run(forge.close(1))
    assert run(forge.get(1)).state == "closed"
    with pytest.raises(ForgeGone, match=r"GET /api/v1/repos/acme/shop/pulls/7 .* 404"):
        run(forge.get(7))


def test_renamed_repository_is_followed_by_reads_and_writes(
    world: GiteaWorld, gitea: GiteaServer, forge: GiteaForge, run: Run
) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    world.rename("newco/store")
    assert run(forge.open(WISH)).number == 1
    with gitea.counted() as requests:
        assert run(forge.get(1)).title == "Add a"
    assert requests == ["GET /repos/newco/store/pulls/1"]
    for name in ("acme/store", "acme/shop"):
        world.old_names.discard(name)
        world.rename(name)
        run(forge.comment(1, name))
    assert [comment.body for comment in world.comments] == ["acme/store", "acme/shop"]
