"""Pull requests from forks: their code runs only at a commit that a maintainer has allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.github.facts import Pull
from tests.support.on_github import OnGitHub
from tests.support.patience import wait_for
from tests.support.served import git
from tests.support.served_people import set_up
from tests.support.small_project import FILES, endpoint, hello


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[OnGitHub]:
    """A server whose project is on GitHub, with an env value for drafts."""
    server = OnGitHub(tmp_path)
    yield server
    server.stop()


def fork(shop: OnGitHub, number: int) -> Pull:
    """Open a pull request of a stranger's fork."""
    return shop.propose("patch", hello(number), home=shop.world.fork("mallory"), who="mallory")


def allow(shop: OnGitHub, pull: Pull, head: str) -> httpx.Response:
    """Allow a commit of a fork, as a maintainer."""
    path = f"/api/projects/shop/pulls/{pull.number}/allow"
    return shop.control.post(path, json={"head": head})


def listed(shop: OnGitHub) -> list[dict[str, Any]]:
    """Return the pull requests as the server lists them."""
    found: list[dict[str, Any]] = shop.control.get("/api/projects/shop/pulls").json()["pulls"]
    return found


@pytest.mark.long
def test_a_fork_is_checked_and_planned_but_not_run(shop: OnGitHub) -> None:
    pull = fork(shop, 2)
    shop.until_checked(pull, "success", "success")
    (comment,) = wait_for(lambda: shop.comments(pull))
    assert "a maintainer allows this commit" in comment
    assert not shop.deployed("preview/1")
    (found,) = listed(shop)
    assert (found["is_fork"], found["runs"], found["preview"]) == (True, False, "")
    assert not any("pull" in draft["branch"] for draft in drafts(shop))


def test_an_allowed_commit_has_a_preview_and_the_next_one_waits_again(shop: OnGitHub) -> None:
    pull = fork(shop, 2)
    shop.until_checked(pull, "success", "success")
    old = pull.head
    assert "is a shortened id" in allow(shop, pull, old[:39]).text
    assert allow(shop, pull, old).json() == {"number": 1, "head": old}
    wait_for(lambda: shop.deployed("preview/1") == {old: "success"})
    wait_for(lambda: [draft["branch"] for draft in drafts(shop)] == ["pull~1"])

    shop.push("patch", hello(3), pull.home)
    shop.until_checked(pull, "success", "success")
    wait_for(lambda: shop.deployed("preview/1") == {old: "inactive"})
    wait_for(lambda: drafts(shop) == [])
    refused = allow(shop, pull, old)
    assert refused.status_code == 409, refused.text
    assert f"is at {pull.head[:12]}, not {old[:12]}" in refused.text


@pytest.mark.long
def test_the_draft_of_a_fork_gets_no_rows_and_no_hosts(shop: OnGitHub) -> None:
    pull = fork(shop, 2)
    shop.until_checked(pull, "success", "success")
    allow(shop, pull, pull.head)
    (draft,) = wait_for(lambda: drafts(shop))
    path = f"/api/projects/shop/drafts/{draft['slug']}"
    rows = shop.control.post(f"{path}/rows", json={})
    hosts = shop.control.post(
        f"{path}/hosts", json={"commit": pull.head, "hosts": ["evil.example"]}
    )
    for answer in (rows, hosts):
        assert answer.status_code == 409, answer.text
        assert "the code of a fork" in answer.text


@pytest.mark.long
def test_a_head_that_is_missing_for_a_while_ends_nothing(shop: OnGitHub) -> None:
    pull = fork(shop, 2)
    shop.until_checked(pull, "success", "success")
    allow(shop, pull, pull.head)
    wait_for(lambda: shop.deployed("preview/1") == {pull.head: "success"})
    ref = f"refs/pull/{pull.number}/head"
    git(shop.world.repo.path, "update-ref", "-d", ref)
    shop.nudge()
    wait_for(lambda: listed(shop) == [])
    git(shop.world.repo.path, "update-ref", ref, pull.head)
    shop.nudge()
    (found,) = wait_for(lambda: listed(shop))
    assert found["runs"]
    shop.push("patch", hello(3), pull.home)
    shop.until_checked(pull, "success", "success")
    wait_for(lambda: f"`{pull.head[:12]}`" in shop.comments(pull)[-1])
    assert len(shop.comments(pull)) == 1


@pytest.mark.long
def test_branches_of_the_repository_need_no_decision(shop: OnGitHub) -> None:
    pull = shop.propose("own", hello(2))
    shop.until_checked(pull, "success", "success")
    answer = allow(shop, pull, pull.head)
    assert answer.status_code == 409
    assert "is not from a fork" in answer.text
    assert "no open pull request #99" in allow(shop, Pull(
        99, "", "", "", None, "", "", "", ""
    ), pull.head).text  # fmt: skip


def drafts(shop: OnGitHub) -> list[dict[str, Any]]:
    """Return the drafts of the project."""
    found: list[dict[str, Any]] = shop.control.get("/api/projects/shop/drafts").json()
    return found


@pytest.mark.long
def test_pages_show_the_pull_request_and_a_maintainer_allows_it(shop: OnGitHub) -> None:
    pull = fork(shop, 2)
    shop.until_checked(pull, "success", "success")
    with closing(set_up(shop)) as browser:
        page = browser.get("/projects/shop/proposals").text
        assert f'Run <span class="mono">{pull.head}</span>' in page
        assert "pull request" in browser.get("/projects/shop").text
        (csrf,) = {*re.findall(r'name="csrf" value="([^"]+)"', page)}
        form = {"head": pull.head, "csrf": csrf}
        answer = browser.post(f"/projects/shop/pulls/{pull.number}/allow", data=form)
        assert answer.status_code == 303, answer.text
        wait_for(lambda: shop.deployed("preview/1") == {pull.head: "success"})
        stale = browser.post("/projects/shop/pulls/9/allow", data=form)
        assert stale.status_code == 409
        assert "has no open pull request #9" in stale.text


@pytest.mark.long
def test_forks_wait_below_the_reserve_of_requests_and_own_branches_go_on(shop: OnGitHub) -> None:
    shop.forge.left = 450
    pulls = [
        shop.propose(f"patch{number}", hello(number), home=shop.world.fork(who), who=who)
        for number, who in enumerate(("mallory", "eve", "oscar"), 2)
    ]
    own = shop.propose("own", hello(9))
    shop.until_checked(own, "success", "success")
    wait_for(lambda: [each["number"] for each in listed(shop) if each["waits"]] == [3, 2, 1])
    assert not any(shop.statuses(pull.head) or shop.comments(pull) for pull in pulls)
    told = shop.bbops("pulls", "list", "--project", "shop")
    assert "forks wait: " in told.stderr
    assert "of 5000 requests are left, and 500 are kept for own branches" in told.stderr
    assert "#1  waits" in told.stdout
    page = shop.control.get("/projects/shop/proposals", headers={"accept": "text/html"}).text
    assert "Pull requests from forks wait: " in page
    assert allow(shop, pulls[0], pulls[0].head).status_code == 200
    shop.until_checked(pulls[0], "success", "success")  # a maintainer's decision does not wait
    shop.push("own", hello(10))
    shop.until_checked(own, "success", "success")
    shop.forge.left = 5_000
    shop.nudge()
    for pull in pulls:
        shop.until_checked(pull, "success", "success")
    assert not any(each["waits"] for each in listed(shop))


@pytest.mark.long
@pytest.mark.parametrize("is_own", [True, False], ids=["own branch", "allowed fork"])
def test_slow_draft_whose_tests_run_delays_no_publication(shop: OnGitHub, *, is_own: bool) -> None:
    steps = "".join(f"  - set: {{ v{number}: '${{ 1 + 2 * 3 }}' }}\n" for number in range(60))
    files = {f"functions/f{number}.yaml": f"steps:\n{steps}" for number in range(1_500)}
    home = None if is_own else shop.world.fork("mallory")
    pull = shop.propose("slow", files, home=home, who="ada" if is_own else "mallory")
    if not is_own:
        wait_for(lambda: allow(shop, pull, pull.head).is_success)
    wait_for(lambda: [each["runs"] for each in listed(shop)] == [True])
    other = {
        "functions/beside.yaml": FILES["functions/hello.yaml"],
        "endpoints/beside.yaml": endpoint("GET", "/beside", "beside"),
    }
    shop.push("main", other)
    wait_for(lambda: shop.api.get("/beside").status_code == 200)
    assert not shop.statuses(pull.head)
    wait_for(lambda: len(shop.statuses(pull.head)) == 2)
