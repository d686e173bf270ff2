"""Commits of a hosted repository go live once its forge has reviewed them; with a real server."""

from __future__ import annotations

import pytest

from tests.support.forge_project import RULES, Start, Way, start
from tests.support.served import git
from tests.support.small_project import FILES, hello

pytestmark = pytest.mark.long

__all__ = ["start"]


def test_approved_pull_requests_go_live_however_they_are_merged(start: Start) -> None:
    project = start()
    ways: list[Way] = ["merge", "squash", "rebase", "merge"]
    for number, way in enumerate(ways):
        topic = project.propose(hello(10 + number), {"README.md": f"{number}\n"})
        project.until_live(project.land(topic, way))
    several = [project.propose({f"docs/{number}.md": "x\n"}) for number in range(3)]
    before = git(project.work, "rev-parse", "main")
    for topic in several:  # as a merge queue does
        base = git(project.work, "rev-parse", "main")
        project.record(topic, project.merge(topic), base)
        project.forge.review(topic.number, "eve", topic.head)
    project.until_live(project.push())
    assert before != project.live()


def test_missing_approval_holds_a_commit_until_it_is_given(start: Start) -> None:
    project = start()
    topic = project.propose()
    merged = project.land(topic, by="")
    message = project.until_stalled(merged, "ReviewMissing")
    assert f"commit {merged[:12]} has arrived" in message
    assert "#1: 1 more approval needed;" in message
    assert "complete https://forge.example/pull/1; or look at 'git diff" in message
    assert f"bbops accept {merged}" in message
    project.forge.review(1, "bob", topic.head)
    project.reconcile()
    project.until_live(merged)


def test_approval_of_another_head_does_not_count(start: Start) -> None:
    project = start()
    first = project.propose(hello(5))
    topic = project.propose(hello(6))
    merged = project.land(topic, by="")
    project.forge.review(2, "bob", first.head)
    message = project.until_stalled(merged, "ReviewMissing")
    assert f"the approval of bob was of {first.head[:7]}, and {topic.head[:7]}" in message


def test_direct_push_is_held_and_can_be_accepted(start: Start) -> None:
    project = start()
    project.commit(hello(7))
    pushed = project.push()
    message = project.until_stalled(pushed, "ReviewMissing")
    assert f"no merged pull request into 'main' brought commit {pushed[:12]} by ada" in message
    project.accept(pushed)
    project.until_live(pushed)


def test_direct_push_on_top_of_a_reviewed_merge_is_held(start: Start) -> None:
    project = start()
    topic = project.propose(hello(8))
    project.record(topic, project.merge(topic), topic.base)
    project.forge.review(1, "bob", topic.head)
    project.commit({"README.md": "evil\n"})
    pushed = project.push()
    message = project.until_stalled(pushed, "ReviewMissing")
    assert "2 commits have arrived" in message
    assert f"brought commit {pushed[:12]}" in message
    assert project.live() == project.start_commit
    project.forge.calls()
    project.reconcile()
    project.until_stalled(pushed, "ReviewMissing")
    project.accept(pushed, project.start_commit)
    project.until_live(pushed)
    assert f"find_merged {topic.head}" not in project.forge.calls()


@pytest.mark.parametrize("way", ["merge", "squash", "rebase"])
def test_merge_with_unreviewed_content_is_held(start: Start, way: Way) -> None:
    project = start()
    topic = project.propose(hello(9))
    project.merge(topic, way)
    (project.work / "functions/hello.yaml").write_text(hello(666)["functions/hello.yaml"])
    git(project.work, "commit", "-qa", "--amend", "--no-edit")
    merged = git(project.work, "rev-parse", "main")
    project.record(topic, merged, topic.base)
    project.forge.review(1, "bob", topic.head)
    project.push()
    message = project.until_stalled(merged, "ReviewMissing")
    assert f"the files of commit {merged[:12]} are not the reviewed ones of" in message


def test_head_in_git_has_to_be_the_head_of_the_forge(start: Start) -> None:
    project = start()
    topic = project.propose(hello(11))
    merged = project.merge(topic, "squash")
    other = project.propose(hello(12))
    git(project.work, "push", "-q", "-f", "origin", f"{other.head}:refs/pull/1/head")
    project.record(topic, merged, topic.base)
    project.forge.review(1, "bob", topic.head)
    git(project.work, "reset", "-q", "--hard", merged)
    project.push()
    message = project.until_stalled(merged, "ReviewMissing")
    assert f"its head in git is {other.head[:12]}, on the forge it is {topic.head[:12]}" in message
    git(project.work, "push", "-q", "-f", "origin", f"{topic.head}:refs/pull/1/head")
    project.reconcile()
    project.until_live(merged)


def test_required_checks_and_approvals_of_the_forge_count(start: Start) -> None:
    project = start()
    project.forge.change(rules={"approvals": 2, "checks": ["test"]})
    topic = project.propose()
    merged = project.land(topic)
    message = project.until_stalled(merged, "ReviewMissing")
    assert "#1: 1 more approval needed; #1: check 'test' has not run;" in message
    project.forge.review(1, "eve", topic.head)
    project.forge.change(checks={topic.head: {"test": "pending"}})
    project.reconcile()
    project.until_stalled(merged, "ReviewMissing", "#1: check 'test' is not complete;")
    project.forge.change(checks={topic.head: {"test": "success"}})
    project.reconcile()
    project.until_live(merged)


def test_owners_of_the_live_commit_have_to_approve(start: Start) -> None:
    owners = "* @bob\n/tables/ @acme/data\n"
    project = start(files={".github/CODEOWNERS": owners})
    project.forge.change(rules={"needs_owners": True}, teams={"acme/data": ["eve"]})
    table = f"{FILES['tables/notes.yaml']}  text: {{ type: string, default: x }}\n"
    topic = project.propose({"tables/notes.yaml": table, ".github/CODEOWNERS": "* @bob\n"})
    merged = project.land(topic)
    project.until_stalled(
        merged, "ReviewMissing", "'tables/notes.yaml' needs the approval of an owner: acme/data"
    )
    project.forge.review(1, "eve", topic.head)
    project.reconcile()
    project.until_live(merged)


def test_loss_of_data_needs_the_approvals_of_the_live_rules(start: Start) -> None:
    rules = (
        "review: { main: proposals, source: forge, approvals: 1, destructive: { approvals: 2 } }\n"
    )
    project = start(rules)
    topic = project.propose({"project.yaml": FILES["project.yaml"]})  # without any rule
    merged = project.land(topic)
    project.until_stalled(merged, "ReviewMissing", "1 more approval needed: access is loosened")
    project.forge.review(1, "eve", topic.head)
    project.reconcile()
    project.until_live(merged)
    project.commit(hello(13))
    project.until_live(project.push())


def test_work_of_the_bot_needs_another_person_than_its_grantor(start: Start) -> None:
    project = start()
    topic = project.propose()
    body = "Add it.\n\nOn-behalf-of: bob"
    merged = project.land(topic, author="robot", body=body)
    message = project.until_stalled(merged, "ReviewMissing")
    assert "the approval of bob does not count: the bot acted on their behalf" in message
    project.forge.review(1, "eve", topic.head)
    project.reconcile()
    project.until_live(merged)
    unknown = project.land(project.propose(), author="robot", by="eve")
    project.until_stalled(unknown, "ReviewMissing", "no trailer 'On-behalf-of' names a person")


@pytest.mark.parametrize(
    ("error", "reason"), [("away", "ForgeAway"), ("forbidden", "ForgeForbidden")]
)
def test_forge_that_does_not_answer_holds_a_commit(start: Start, error: str, reason: str) -> None:
    project = start()
    project.forge.change(error=error)
    merged = project.land(project.propose())
    message = project.until_stalled(merged, reason)
    assert "the server tries again" in message
    assert f"bbops accept {merged}" in message
    project.forge.change(error="")
    project.until_live(merged)  # by a retry, without a command


def test_calm_server_and_its_restart_do_not_ask_the_forge(start: Start) -> None:
    project = start()
    merged = project.land(project.propose())
    project.until_live(merged)
    calls = project.forge.calls()
    assert calls == [
        f"find_merged {merged}", "read_rules main", "list_authors 1", "list_reviews 1",
        "may_write bob",
    ]  # fmt: skip
    assert project.served.stop() == 0
    project.served = project.serve()
    project.served.live()
    project.reconcile()
    project.until_live(merged)
    assert project.forge.calls() == []


def test_server_without_a_forge_names_the_fix(start: Start) -> None:
    project = start(has_forge=False)
    merged = project.land(project.propose())
    message = project.until_stalled(merged, "ReviewMissing")
    assert "the server has no access to the forge that 'review.source' names" in message
    assert "give 'forge' of the project in server.yaml a credential; or look at" in message


def test_adoption_of_the_rule_is_decided_by_the_old_rules(start: Start) -> None:
    project = start("review: { main: proposals, approvals: 1 }\n")
    adopted = project.land(project.propose({"project.yaml": FILES["project.yaml"] + RULES}))
    project.until_stalled(adopted, "ReviewMissing")
    assert project.forge.calls() == []
    project.accept(adopted)
    project.until_live(adopted)
    project.until_live(project.land(project.propose()))


def test_more_than_fifty_commits_need_acceptance(start: Start) -> None:
    project = start()
    for number in range(51):
        project.commit({"README.md": f"{number}\n"})
    pushed = project.push()
    project.until_stalled(pushed, "ReviewMissing", "more than 50 commits arrived at once")
    assert project.forge.calls() == []


def test_branch_that_was_merged_into_another_one_is_held(start: Start) -> None:
    project = start()
    topic = project.propose()
    git(project.work, "commit", "-q", "--allow-empty", "-m", "Main goes on")
    other = project.push()
    project.until_stalled(other, "ReviewMissing")
    project.accept(other)
    project.until_live(other)
    git(project.work, "switch", "-q", f"topic{topic.number}")
    git(project.work, "merge", "-q", "-m", "Merge main", "main")
    git(project.work, "branch", "-qf", "main", "HEAD")
    message = project.until_stalled(project.push(), "ReviewMissing", "first parents")
    assert f"the first parents of 'main' do not lead to {other[:12]}" in message
