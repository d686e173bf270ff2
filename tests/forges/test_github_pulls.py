"""Pull requests of GitHub: listed, opened, merged, closed and found by a commit."""

from __future__ import annotations

import pytest

from bbops_server.forges.github import GitHubForge
from bbops_server.forges.hosted import ForgeConflict, ForgeForbidden, ForgeGone
from bbops_server.forges.values import NewPullRequest, PullRequest
from tests.support.forge_world.api_server import GRAPHQL
from tests.support.github.connected import Client, Run
from tests.support.github.facts import EVERYTHING, Pull
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld, push
from tests.support.served import git

METHODS = ["merge", "squash", "rebase"]


def propose(world: GitHubWorld, branch: str = "topic", *, who: str = "bea") -> Pull:
    push(world.repo, branch, {f"{branch}.txt": branch}, who=who)
    return world.open_pull(who, branch, f"Add {branch}")


def test_open_pull_requests_are_listed_newest_first(
    world: GitHubWorld, forge: GitHubForge, run: Run
) -> None:
    first, second = propose(world), propose(world, "other")
    world.close(propose(world, "third").number)
    listed = run(forge.list_open("main"))
    assert [pull.number for pull in listed] == [second.number, first.number]
    assert listed[1] == PullRequest(
        1, "Add topic", "open", "bea", first.head, "topic", "main",
        f"{forge.url}/acme/shop/pull/1",
    )  # fmt: skip


def test_pull_requests_of_another_branch_are_not_listed(
    world: GitHubWorld, forge: GitHubForge, run: Run
) -> None:
    propose(world)
    assert run(forge.list_open("stable")) == []


def test_unchanged_list_costs_nothing_of_the_limit(
    world: GitHubWorld, github: GitHubServer, client: Client, run: Run
) -> None:
    propose(world)

    async def list_twice() -> bool:
        forge = client.with_token()
        first = await forge.list_open("main")
        left = github.left
        return first == await forge.list_open("main") and left == github.left

    assert run(list_twice())
    assert [request.status for request in github.requests] == [200, 304]


def test_list_has_all_pages(
    world: GitHubWorld, github: GitHubServer, client: Client, run: Run
) -> None:
    github.page_size = 2
    for name in "abcde":
        propose(world, name)
    listed = run(client.with_token().list_open("main"))
    assert [pull.number for pull in listed] == [5, 4, 3, 2, 1]
    assert len(github.requests) == 3


def test_pull_request_of_a_fork_is_marked(world: GitHubWorld, forge: GitHubForge, run: Run) -> None:
    fork = world.fork("mallory")
    push(fork, "topic", {"a.txt": "a"}, who="mallory")
    pull = world.open_pull("mallory", "topic", home=fork)
    assert run(forge.get(pull.number)).is_fork
    assert run(forge.find("topic", "main")) is None
    head = git(world.repo.path, "rev-parse", forge.pull_ref.format(number=pull.number))
    assert head == pull.head


def test_draft_is_marked(world: GitHubWorld, forge: GitHubForge, run: Run) -> None:
    push(world.repo, "topic", {"a.txt": "a"})
    world.open_pull("bea", "topic", is_draft=True)
    assert run(forge.get(1)).is_draft


def test_missing_pull_request_is_gone(forge: GitHubForge, run: Run) -> None:
    with pytest.raises(ForgeGone, match=r"GET /api/v3/repos/acme/shop/pulls/7 .* 404: Not Found"):
        run(forge.get(7))


def test_opened_pull_request_is_found_by_its_branch(
    world: GitHubWorld, forge: GitHubForge, run: Run
) -> None:
    head = push(world.repo, "topic", {"a.txt": "a"})
    wish = NewPullRequest("topic", "main", "Add a", "Because.")
    opened = run(forge.open(wish))
    assert (opened.head, opened.author) == (head, next(iter(run(forge.bot_logins()))))
    assert run(forge.find("topic", "main")) == opened
    assert world.pulls[0].body == "Because."


def test_second_pull_request_of_a_branch_is_a_conflict(
    world: GitHubWorld, forge: GitHubForge, run: Run
) -> None:
    propose(world)
    with pytest.raises(ForgeConflict, match="A pull request already exists for acme:topic"):
        run(forge.open(NewPullRequest("topic", "main", "Again", "")))


def test_closed_pull_request_stays_unmerged(
    world: GitHubWorld, forge: GitHubForge, run: Run
) -> None:
    propose(world)
    run(forge.close(1))
    assert run(forge.get(1)).state == "closed"


@pytest.mark.parametrize("method", METHODS)
def test_merge_uses_an_allowed_method(
    world: GitHubWorld, forge: GitHubForge, method: str, run: Run
) -> None:
    world.repo.methods = (method,)
    pull = propose(world)
    commit = run(forge.merge(1, pull.head))
    assert git(world.repo.path, "rev-parse", "main") == commit
    assert (git(world.repo.path, "show", "main:topic.txt")) == "topic"
    merged = run(forge.get(1))
    login = next(iter(run(forge.bot_logins())))
    assert (merged.state, merged.merged, merged.merged_by) == ("merged", commit, login)


@pytest.mark.parametrize("method", METHODS)
def test_commit_leads_to_its_merged_pull_request(
    world: GitHubWorld, forge: GitHubForge, method: str, run: Run
) -> None:
    propose(world)
    push(world.repo, "main", {"other.txt": "x"}, who="ada")
    commit = world.merge(1, "ada", method)
    found = run(forge.find_merged(commit))
    assert [(pull.number, pull.merged, pull.merged_by) for pull in found] == [(1, commit, "ada")]


def test_commit_without_a_pull_request_leads_to_none(
    world: GitHubWorld, forge: GitHubForge, run: Run
) -> None:
    commit = push(world.repo, "main", {"direct.txt": "x"}, who="ada")
    assert run(forge.find_merged(commit)) == []
    assert run(forge.find_merged("1" * 40)) == []


def test_open_pull_request_of_a_commit_is_left_out(
    world: GitHubWorld, forge: GitHubForge, run: Run
) -> None:
    assert run(forge.find_merged(propose(world).head)) == []


def test_push_of_a_head_to_the_branch_counts_as_its_merge(
    world: GitHubWorld, forge: GitHubForge, run: Run
) -> None:
    pull = propose(world)
    git(world.repo.path, "update-ref", "refs/heads/main", pull.head)
    assert [merged.number for merged in run(forge.find_merged(pull.head))] == [1]


def test_changed_head_blocks_a_merge(world: GitHubWorld, forge: GitHubForge, run: Run) -> None:
    pull = propose(world)
    before = pull.head
    push(world.repo, "topic", {"more.txt": "x"})
    with pytest.raises(ForgeConflict, match="Head branch was modified"):
        run(forge.merge(1, before))


def test_rules_block_a_merge(world: GitHubWorld, forge: GitHubForge, run: Run) -> None:
    pull = propose(world)
    world.repo.rules.approvals, world.repo.rules.checks = 1, ("bbops/check",)
    with pytest.raises(ForgeConflict, match="At least 1 approving review is required"):
        run(forge.merge(1, pull.head))
    world.review(1, "ada")
    with pytest.raises(ForgeConflict, match='Required status check "bbops/check" is expected'):
        run(forge.merge(1, pull.head))


@pytest.mark.long
def test_merge_into_a_branch_with_a_queue_enters_the_queue(
    world: GitHubWorld, github: GitHubServer, client: Client, run: Run
) -> None:
    world.repo.rules.has_queue = True
    pull = propose(world)
    forge = client.with_token(**EVERYTHING, merge_queues="write")
    assert run(forge.merge(pull.number, pull.head)) == ""
    assert run(forge.merge(pull.number, pull.head)) == "", "a repeated request changes nothing"
    assert world.queue == [pull]
    assert github.paths().count(f"POST {GRAPHQL}") == 2
    world.work_queue()
    assert run(forge.get(pull.number)).state == "merged"


@pytest.mark.long
def test_queue_takes_only_the_reviewed_head(world: GitHubWorld, client: Client, run: Run) -> None:
    world.repo.rules.has_queue = True
    pull = propose(world)
    forge = client.with_token(**EVERYTHING, merge_queues="write")
    with pytest.raises(ForgeConflict, match="Head sha didn't match expected sha") as caught:
        run(forge.merge(pull.number, "0" * 40))
    assert caught.value.hint.endswith(f"/acme/shop/pull/{pull.number}")
    assert world.queue == []


@pytest.mark.long
def test_queue_without_the_right_names_the_page_where_a_person_enters_it(
    world: GitHubWorld, client: Client, run: Run
) -> None:
    world.repo.rules.has_queue = True
    pull = propose(world)
    with pytest.raises(ForgeForbidden, match="the merge queue cannot be entered") as caught:
        run(client.with_token().merge(pull.number, pull.head))
    assert "'merge_queues: write'" in caught.value.hint
    assert caught.value.hint.endswith(f"/acme/shop/pull/{pull.number}")
