"""Proposals on the server's own forge: pushed to refs/for, reviewed, merged, live."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.proposing import REVIEWED, Asking, commit_alone, propose, wait_for_tests, world
from tests.support.pushing import BAD, World
from tests.support.served import git
from tests.support.slow_tests import slow_tests
from tests.support.small_project import FILES, hello

__all__ = ["world"]


def test_a_push_to_refs_for_opens_a_proposal_and_another_updates_it(world: World) -> None:
    clone = world.clone("developer")
    first = clone.commit(world.next_version())
    number = propose(clone, "cart", "-o", "title=A cart", "-o", "description=For all of it")
    found = Asking(world, "viewer").get(number)
    proposal = found["proposal"]
    assert (proposal["title"], proposal["description"]) == ("A cart", "For all of it")
    assert (proposal["author"], proposal["head"]) == ("developer@example.com", first)
    assert found["preview"].endswith(f"/shop/~drafts/proposal-{number}/")
    assert clone.git("fetch", "-q", "origin", f"pull/{number}/head").code == 0
    second = clone.commit(world.next_version())
    assert propose(clone, "cart") == number
    assert world.tip(f"refs/pull/{number}/head") == second
    assert Asking(world, "viewer").get(number)["proposal"]["title"] == "A cart"


@pytest.mark.long
def test_the_preview_of_a_proposal_is_awake_before_anybody_asks(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    number, asking = propose(clone, "preview"), Asking(world, "viewer")
    url = asking.url.replace("proposals", "drafts")

    def is_live() -> bool:
        found = httpx.get(url, headers=asking.headers, timeout=PATIENCE_SECONDS).json()
        return (f"proposal-{number}", "awake") in [(one["branch"], one["state"]) for one in found]

    assert wait_for(is_live)


def test_a_push_that_proposes_nothing_is_refused(world: World) -> None:
    clone = world.clone("developer")
    done = clone.push("origin", "HEAD:refs/for/main/nothing")
    assert done.code == 1
    assert "nothing to propose: 'main' holds" in done.text
    assert "nothing" not in [one["topic"] for one in Asking(world, "viewer").ask().json()]


@pytest.mark.long
def test_a_proposal_is_replaced_only_by_force(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    number = propose(clone, "again")
    clone.git("commit", "-q", "--amend", "-m", "Another past")
    done = clone.push("origin", "HEAD:refs/for/main/again")
    assert f"proposal #{number} holds commits that this does not" in done.text
    assert propose(clone, "again", "-o", "force") == number


@pytest.mark.long
def test_a_merge_is_live_when_it_answers(world: World) -> None:
    clone = world.clone("developer")
    changes = world.next_version()
    clone.commit(changes)
    number = propose(clone, "version")
    assert Asking(world, "developer").merge(number).status_code == 403
    done = Asking(world, "maintainer").merge(number)
    assert done.status_code == 200, done.text
    merged = done.json()["proposal"]["merged"]
    assert (world.tip(), merged) == (merged, world.tip())
    assert f"version: {world.version()}" in changes["functions/hello.yaml"]
    assert done.json()["lines"][0].startswith(f"live: {merged[:12]} as bbops/shop/v")
    assert world.tip(f"refs/heads/proposal-{number}") == ""
    assert git(world.folder / "shop", "log", "-1", "--format=%s", merged) == (
        f"Merge #{number}: Change"
    )
    again = Asking(world, "maintainer").merge(number)
    assert (again.status_code, "is merged" in again.text) == (409, True)


@pytest.mark.long
def test_a_missing_value_is_told_before_it_stalls_the_branch(world: World) -> None:
    clone, asking = world.clone("developer"), Asking(world, "maintainer")
    project = (clone.folder / "project.yaml").read_text()
    changed = project.replace("env:\n", "env:\n  MAIL_KEY: { secret: true }\n")
    commit_alone(clone, {"project.yaml": changed})
    number, before = propose(clone, "mail"), world.tip()
    (obstacle,) = asking.get(number)["obstacles"]
    assert obstacle.startswith("env MAIL_KEY has no value, and the merge would not go live")
    assert "'bbops env set MAIL_KEY --project shop' on the server" in obstacle
    assert (asking.merge(number).status_code, world.tip()) == (409, before)


@pytest.mark.long
def test_what_does_not_work_is_not_merged(world: World) -> None:
    clone, before = world.clone("developer"), world.tip()
    clone.commit(BAD)
    number = propose(clone, "broken")
    found = Asking(world, "maintainer").get(number)
    assert found["obstacles"] == ["its project has errors"]
    assert found["diagnostics"][0]["file"] == "functions/hello.yaml"
    done = Asking(world, "maintainer").merge(number)
    assert (done.status_code, world.tip()) == (409, before)


@pytest.mark.long
def test_conflicts_are_named_by_file(world: World) -> None:
    one, other = world.clone("developer"), world.clone("maintainer")
    one.commit(world.next_version())
    number = propose(one, "conflict")
    other.commit(world.next_version())
    assert other.push().code == 0
    found = Asking(world, "maintainer").get(number)
    assert found["conflicts"] == ["functions/hello.yaml"]
    assert "it conflicts with 'main' in functions/hello.yaml" in found["obstacles"][0]


@pytest.mark.long
def test_a_work_tree_with_changes_keeps_a_merge_away(world: World) -> None:
    clone, copy = world.clone("developer", "copy"), world.folder / "copy"
    clone.commit(REVIEWED | {"docs/note.md": "a note\n"})
    number, asking = propose(clone, "dirty"), Asking(world, "owner", "copy")
    asking.say(number, "approved")
    file = copy / "functions/hello.yaml"
    kept = file.read_text()
    file.write_text(f"{kept}# being written\n")
    done = asking.merge(number)
    assert (done.status_code, "with changes; commit or stash them there" in done.text) == (
        409, True,
    ), done.text  # fmt: skip
    file.write_text(kept)
    assert asking.merge(number).status_code == 200
    assert (copy / "docs/note.md").read_text() == "a note\n"


@pytest.mark.long
def test_its_author_or_a_maintainer_closes_a_proposal(world: World) -> None:
    clone = world.clone("owner")
    clone.commit(world.next_version())
    number = propose(clone, "unwanted")
    assert Asking(world, "developer").post(f"/{number}/close").status_code == 403
    assert Asking(world, "owner").post(f"/{number}/close").json()["state"] == "closed"
    assert Asking(world, "owner").say(number, "approved").status_code == 409
    assert Asking(world, "owner").say(number, "commented", text="well").status_code == 201


@pytest.mark.long
def test_a_branch_is_proposed_without_a_clone(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    assert clone.push("origin", "HEAD:refs/heads/idea").code == 0
    asking = Asking(world, "developer")
    made = asking.post("", branch="idea", title="An idea")
    assert (made.status_code, made.json()["topic"]) == (201, "idea"), made.text
    assert asking.post("", branch="main").status_code == 409
    assert asking.post("", branch="nothing").status_code == 409


@pytest.mark.long
@pytest.mark.parametrize("ref", ["refs/for/other/x", "refs/for/main2/x", "refs/heads/proposal-1"])
def test_what_proposals_are_made_of_is_not_pushed(world: World, ref: str) -> None:
    clone = world.clone("owner")
    clone.commit(world.next_version())
    assert clone.push("origin", f"HEAD:{ref}").code == 1


@pytest.mark.long
def test_what_loses_values_takes_an_approval_which_lets_them_go(world: World) -> None:
    posted = world.api.post("/shop/notes", json={"title": "kept"})
    assert posted.status_code == 201
    clone, asking = world.clone("developer"), Asking(world, "maintainer")
    git(clone.folder, "rm", "-q", "-r", "tables", "functions/add.yaml", "functions/list.yaml",
        "endpoints/add.yaml", "endpoints/list.yaml")  # fmt: skip
    git(clone.folder, "commit", "-qm", "Drop the notes")
    number = propose(clone, "drop")
    found = asking.get(number)
    assert found["approvals"] == 1
    assert "1 more approval needed: values would be lost: 'notes'" in found["obstacles"][0]
    assert (found["plan"]["plan"]["tables"][0]["risk"], "1 row" in found["text"]) == (
        "destructive", True,
    )  # fmt: skip
    assert asking.merge(number).status_code == 409
    assert asking.say(number, "approved").status_code == 201
    done = asking.merge(number)
    assert done.status_code == 200, done.text
    assert done.json()["is_live"], done.json()["lines"]
    assert world.api.get("/shop/notes").status_code == 404


GATED = {
    "project.yaml": f"{FILES['project.yaml']}tests: {{ gate: true }}\n",
    "tests/hello.yaml": (
        "endpoint: hello\ncases:\n  - name: greets\n"
        "    expect: { status: 200, value: { text: hello } }\n"
    ),
}


@pytest.mark.long
def test_what_its_own_tests_refuse_is_not_merged(world: World) -> None:
    clone, asking = world.clone("owner", "left"), Asking(world, "owner", "left")
    clone.commit({f"left/{path}": text for path, text in GATED.items()})
    assert clone.push().code == 0
    before = world.tip(project="both")
    broken = FILES["functions/hello.yaml"].replace("text:", "words:")
    clone.commit({"left/functions/hello.yaml": broken})
    done = asking.merge(propose(clone, "tested"))
    assert (done.status_code, "its tests fail: " in done.text) == (409, True), done.text
    assert world.tip(project="both") == before


@pytest.mark.long
def test_a_proposal_says_whether_its_tests_pass(world: World) -> None:
    clone, asking = world.clone("developer", "copy"), Asking(world, "viewer", "copy")
    clone.commit({"tests/hello.yaml": GATED["tests/hello.yaml"]} | hello(1))
    done = clone.push("origin", "HEAD:refs/for/main/passing")
    assert "its tests pass: 1 case in " in done.text
    number = int(re.findall(r"proposal #(\d+)", done.text)[0])
    found = wait_for_tests(asking, number)
    assert (found["state"], found["passed"], found["failed"]) == ("passed", 1, 0)


@pytest.mark.long
def test_a_tree_that_was_tested_is_not_tested_again(world: World) -> None:
    clone, asking = world.clone("developer", "copy"), Asking(world, "viewer", "copy")
    clone.commit(slow_tests(1))
    first = propose(clone, "one")
    once = wait_for_tests(asking, first)
    clone.git("commit", "-q", "--amend", "-m", "The same in other words")
    assert asking.get(propose(clone, "other"))["tests"] == once


@pytest.mark.long
def test_tests_that_fail_are_told_but_keep_nothing_away(world: World) -> None:
    clone, asking = world.clone("developer", "copy"), Asking(world, "maintainer", "copy")
    clone.commit({"tests/hello.yaml": GATED["tests/hello.yaml"].replace("200", "201")})
    number = propose(clone, "failing")
    found = wait_for_tests(asking, number)
    assert (found["state"], found["passed"], found["failed"]) == ("failed", 0, 1)
    assert (found["diagnostics"][0]["file"], found["diagnostics"][0]["line"]) == (
        "tests/hello.yaml", 4,
    )  # fmt: skip
    assert found["summary"].startswith("its tests fail: tests/hello.yaml:4: 'greets': ")
    detail = asking.get(number)
    assert found["summary"] not in detail["obstacles"]
    (warning,) = detail["warnings"]
    assert warning.startswith(found["summary"])


@pytest.mark.long
def test_a_newer_change_ends_the_tests_of_the_one_before(world: World) -> None:
    clone, asking = world.clone("developer", "copy"), Asking(world, "viewer", "copy")
    clone.commit(slow_tests(200))  # nobody waits so long for the newer ones
    number = propose(clone, "slow")
    assert asking.get(number)["tests"]["state"] == "running"
    clone.commit(slow_tests(2))
    propose(clone, "slow")
    assert wait_for_tests(asking, number)["passed"] == 2


@pytest.mark.long
def test_a_merge_does_not_break_a_neighbour(world: World) -> None:
    clone, asking = world.clone("owner", "left"), Asking(world, "owner", "left")
    clone.commit({f"right/{path}": text for path, text in BAD.items()})
    found = asking.get(propose(clone, "neighbour"))
    (obstacle,) = found["obstacles"]
    assert obstacle.startswith("project 'right' of this repository: its project has errors")


@pytest.mark.long
def test_a_proposal_is_reviewed_and_merged_on_its_page(world: World) -> None:
    clone = world.clone("developer")
    commit_alone(clone, world.next_version())
    number = propose(clone, "page", "-o", "title=<b>By hand</b>")
    key = world.book.sessions.begin(world.people["maintainer"], user_agent="", address="")
    path = f"/projects/shop/proposals/{number}"
    url, headers = world.serving["control_url"], {"accept": "text/html"}
    with httpx.Client(
        base_url=url, cookies={"bbops": key}, headers=headers, timeout=PATIENCE_SECONDS
    ) as browser:
        listed = browser.get("/projects/shop/proposals").text
        assert f"#{number} &lt;b&gt;By hand&lt;/b&gt;" in listed
        wait_for_tests(Asking(world, "viewer"), number)
        shown = browser.get(path).text
        assert "Nothing blocks the merge." in shown
        assert "It has no tests." in shown
        assert re.search(r"Your approval (counts|does not count)[^.]*\. Approvals: ", shown)
        fields = dict(re.findall(r'name="(csrf|plan|head)" value="([0-9a-f]+)"', shown))
        said = browser.post(
            f"{path}/review", data=fields | {"verdict": "approved", "text": "<i>fine</i>"}
        )
        assert said.headers["location"] == f"{path}?done=approved"
        assert "&lt;i&gt;fine&lt;/i&gt;" in browser.get(path).text
        assert browser.post(f"{path}/merge", data={"head": fields["head"]}).status_code == 403
        merged = browser.post(f"{path}/merge", data=fields, timeout=60)
        assert (merged.status_code, "<p>live: " in merged.text) == (200, True)
        assert all(one in merged.text for one in (">merged<", "By developer@example.com"))


def roll_back(world: World, name: str, **more: Any) -> httpx.Response:
    headers = Asking(world, name).headers
    url = f"{world.serving['control_url']}/api/projects/shop/rollback"
    return httpx.post(url, json={"version": "v1", **more}, headers=headers, timeout=60)


@pytest.mark.long
def test_going_back_is_proposed_without_a_branch(world: World) -> None:
    clone, asking = world.clone("maintainer"), Asking(world, "maintainer")
    clone.commit(world.next_version())
    assert clone.push().code == 0
    before, branches = world.tip(), world.tip("refs/heads")
    assert roll_back(world, "viewer").status_code == 403
    done = roll_back(world, "developer", only=["functions/hello"])
    assert done.status_code == 202, done.text
    number, found = done.json()["proposal"], asking.get(done.json()["proposal"])
    assert done.json()["page"].endswith(f"/projects/shop/proposals/{number}")
    assert found["proposal"]["title"] == "Roll functions/hello back to v1"
    assert (world.tip(), found["obstacles"]) == (before, [])
    again = roll_back(world, "developer", only=["functions/hello"])
    assert again.json()["proposal"] == number
    assert asking.merge(number).json()["is_live"]
    assert world.version() == 1
    assert world.tip("refs/heads").replace(world.tip(), before) == branches


@pytest.mark.long
def test_a_maintainer_goes_back_without_a_proposal(world: World) -> None:
    clone, before = world.clone("maintainer"), world.tip()
    clone.commit(world.next_version())
    assert clone.push().code == 0
    assert roll_back(world, "developer", now=True).status_code == 403
    done = roll_back(world, "maintainer", now=True, only=["functions/hello"])
    assert (done.status_code, done.json()["proposal"]) == (202, 0), done.text
    assert world.tip() == done.json()["commit"] != before
    wait_for(lambda: world.version() == 1)
    newest = world.book.audit.list(limit=20)
    assert ("roll back", "maintainer@example.com", "shop v1") in [
        (one.action, one.who, one.object) for one in newest
    ]


@pytest.mark.long
def test_a_project_has_a_page_from_which_one_goes_back(world: World) -> None:
    clone = world.clone("maintainer")
    clone.commit(world.next_version(), "A <b>bold</b> version")
    assert clone.push().code == 0
    key = world.book.sessions.begin(world.people["developer"], user_agent="", address="")
    url, headers = world.serving["control_url"], {"accept": "text/html"}
    with httpx.Client(
        base_url=url, cookies={"bbops": key}, headers=headers, timeout=PATIENCE_SECONDS
    ) as browser:
        assert '<a href="/projects/shop">Overview</a>' in browser.get("/").text
        page = browser.get("/projects/shop").text
        assert "The newest commit of main is live as v" in page
        listed = page.partition("<h2>Newest publications")[2]
        assert listed.count("A &lt;b&gt;bold&lt;/b&gt; version") == 2  # as publication and version
        assert "Propose to roll back to v1<" in page
        (csrf,) = set(re.findall(r'name="csrf" value="([0-9a-f]+)"', page))
        done = browser.post("/projects/shop/rollback", data={"csrf": csrf, "version": "v1"})
        assert re.fullmatch(r"/projects/shop/proposals/\d+", done.headers["location"])
        assert "Roll back to v1" in browser.get(done.headers["location"]).text
        missing = browser.post("/projects/shop/rollback", data={"csrf": csrf, "version": "v99"})
        assert (missing.status_code, "no version &#39;v99&#39;" in missing.text) == (409, True)


def test_who_has_no_role_sees_no_proposal(world: World) -> None:
    answer = Asking(world, "stranger").ask()
    assert (answer.status_code, "there is no project 'shop'" in answer.text) == (404, True)


@pytest.mark.long
def test_proposals_are_in_the_audit_log(world: World) -> None:
    actions = {one.action for one in world.book.audit.list(limit=1_000)}
    assert {"push", "merge proposal", "approve proposal", "close proposal"} <= actions
