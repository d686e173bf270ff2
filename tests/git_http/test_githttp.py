"""Push to deploy, with the real git client over real HTTP."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from bbops_server.accounts.rules import Scope
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.pushing import BAD, Clone, World
from tests.support.served import git
from tests.support.small_project import hello


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as world:
        yield world


@pytest.mark.long
def test_a_push_to_main_returns_when_it_is_live(world: World) -> None:
    clone = world.clone()
    commit = clone.commit(hello(2))
    done = clone.push()
    assert done.code == 0, done.text
    assert world.version() == 2
    assert re.search(
        rf"^remote: live: {commit[:12]} as bbops/shop/v\d+ at http://\S+/shop in",
        done.text,
        re.MULTILINE,
    )


def test_a_mistake_is_refused_with_its_place_and_main_stays(world: World) -> None:
    clone, before, version = world.clone(), world.tip(), world.version()
    clone.commit(BAD)
    done = clone.push()
    assert done.code == 1
    assert "remote: 'main' of 'shop' would not work:" in done.text
    assert re.search(
        r"^remote: functions/hello.yaml:2:31: error: .* \[unknown-v", done.text, re.MULTILINE
    )
    assert "remote: 1 error, " in done.text
    assert (world.tip(), world.version()) == (before, version)


@pytest.mark.long
def test_a_draft_with_the_same_mistake_is_taken_and_told(world: World) -> None:
    clone, version = world.clone("developer"), world.version()
    commit = clone.commit(BAD)
    done = clone.push("origin", "HEAD:refs/heads/draft/hello")
    assert done.code == 0, done.text
    assert "draft 'draft/hello' of 'shop' does not work yet" in done.text
    assert "functions/hello.yaml:2:31: error" in done.text
    assert re.search(
        r"^remote: draft 'draft/hello': http://\S+/~drafts/draft-hello-", done.text, re.MULTILINE
    )
    assert (world.tip("refs/heads/draft/hello"), world.version()) == (commit, version)


def test_a_developer_may_not_push_to_main(world: World) -> None:
    clone, before = world.clone("developer"), world.tip()
    clone.commit(world.next_version())
    done = clone.push()
    assert "you may not push to branch 'main': the role required is 'maintainer'" in done.text
    assert (done.code, world.tip()) == (1, before)


def test_a_viewer_fetches_and_does_not_push(world: World) -> None:
    clone = world.clone("viewer")
    clone.commit(world.next_version())
    done = clone.push("origin", "HEAD:refs/heads/draft/viewed")
    assert (done.code, world.tip("refs/heads/draft/viewed")) == (128, "")
    assert "the role required is 'developer'" in done.text


def greet(world: World, token: str, service: str = "git-upload-pack") -> httpx.Response:
    auth = ("me", token) if token else None
    url = f"{world.url()}/info/refs?service={service}"
    return httpx.get(url, auth=auth, timeout=PATIENCE_SECONDS)


def test_nobody_is_asked_for_a_token(world: World) -> None:
    answer = greet(world, "")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Basic realm="bbops"'
    assert greet(world, "bbp_wrong").status_code == 401


def test_a_bearer_token_is_as_good(world: World) -> None:
    headers = {"authorization": f"Bearer {world.token()}"}
    url = f"{world.url()}/info/refs?service=git-upload-pack"
    assert httpx.get(url, headers=headers, timeout=PATIENCE_SECONDS).status_code == 200


def test_who_has_no_role_is_told_of_no_project(world: World) -> None:
    answer = greet(world, world.token("stranger"))
    assert (answer.status_code, answer.text) == (404, "there is no project 'shop'\n")


def test_a_token_is_for_git_and_for_its_project(world: World) -> None:
    other = world.token(project="copy")
    assert greet(world, other).text == "this token is for project 'copy' alone\n"
    deploys = world.token(scopes=[Scope.DEPLOY, Scope.ADMIN])
    assert greet(world, deploys).status_code == 403
    assert "the scope required is 'git'" in greet(world, deploys).text


def test_a_token_that_was_revoked_is_none(world: World) -> None:
    key, token = world.book.tokens.make(world.people["owner"], "old", [Scope.GIT])
    assert greet(world, key).status_code == 200
    world.book.tokens.revoke(world.people["owner"], token.id)
    assert greet(world, key).status_code == 401


def test_a_token_that_has_expired_is_none(world: World) -> None:
    key, token = world.book.tokens.make(world.people["owner"], "short", [Scope.GIT], days=1)
    with closing(sqlite3.connect(world.state / "control.sqlite")) as raw, raw:
        raw.execute("UPDATE tokens SET expires = 0 WHERE id = ?", [token.id])
    assert greet(world, key).status_code == 401


def test_a_session_of_a_browser_is_no_token(world: World) -> None:
    key = world.book.sessions.begin(world.people["owner"], user_agent="", address="")
    url = f"{world.url()}/info/refs?service=git-upload-pack"
    assert httpx.get(url, cookies={"bbops": key}, timeout=PATIENCE_SECONDS).status_code == 401


def test_what_is_live_is_neither_deleted_nor_rewritten(world: World) -> None:
    clone, before = world.clone("owner"), world.tip()
    assert "is live and cannot be deleted" in clone.push("origin", ":main").text
    clone.git("commit", "-q", "--amend", "-m", "Another past")
    done = clone.push("-f", "origin", "HEAD:main")
    assert "branch 'main' only grows" in done.text
    assert world.tip() == before


@pytest.mark.long
def test_a_draft_may_be_rewritten_and_deleted(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    assert clone.push("origin", "HEAD:refs/heads/draft/mine").code == 0
    clone.git("commit", "-q", "--amend", "-m", "Another past")
    assert clone.push("-f", "origin", "HEAD:refs/heads/draft/mine").code == 0
    assert clone.push("origin", ":draft/mine").code == 0
    assert world.tip("refs/heads/draft/mine") == ""


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("refs/tags/v999", "tags 'v1', 'v2', … name what went live"),
        ("refs/pull/1/head", "'refs/pull/1/head' cannot be pushed"),
        ("refs/stash", "deny updating a hidden ref"),
        ("refs/heads/proposal-1/x", "branch 'proposal-1' shows a proposal"),
        ("refs/tags/origin/main", "git would take it for a branch that is served"),
    ],
)
def test_other_refs_are_not_pushed(world: World, ref: str, words: str) -> None:
    done = world.clone("owner").push("origin", f"HEAD:{ref}")
    assert (done.code, words in done.text) == (1, True), done.text
    assert world.tip(ref) == ""


def test_a_tag_of_ones_own_is_taken(world: World) -> None:
    assert world.clone("developer").push("origin", "HEAD:refs/tags/tried").code == 0


def test_a_ref_that_is_refused_keeps_the_others_of_its_push_away(world: World) -> None:
    clone = world.clone("owner")
    done = clone.push("origin", "HEAD:refs/heads/draft/beside", "HEAD:refs/tags/v7")
    assert (done.code, world.tip("refs/heads/draft/beside")) == (1, "")


def test_of_two_pushes_one_fetches_first(world: World) -> None:
    one, other = world.clone(), world.clone()
    commits = {clone: clone.commit(world.next_version()) for clone in (one, other)}
    done: dict[Clone, str] = {}
    threads = [
        threading.Thread(target=lambda clone=clone: done.update({clone: clone.push().text}))
        for clone in (one, other)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (won,) = [clone for clone in (one, other) if "live: " in done[clone]]
    (lost,) = {one, other} - {won}
    assert world.tip() == commits[won]
    assert re.search(r"! \[(remote )?rejected\]", done[lost]), done[lost]


@pytest.mark.long
@pytest.mark.parametrize("version", ["0", "2"])
def test_a_shallow_clone_pushes_in_every_protocol(world: World, version: str) -> None:
    clone = world.clone("owner", "shop", "--depth=1", "-c", f"protocol.version={version}")
    commit = clone.commit(world.next_version())
    assert clone.git("rev-parse", "--is-shallow-repository").text == "true"
    assert clone.push().code == 0
    assert world.tip() == commit
    assert clone.git("fetch", "-q", "--unshallow").code == 0


def test_a_working_copy_follows_a_push(world: World) -> None:
    clone = world.clone("maintainer", "copy")
    clone.commit(world.next_version())
    done = clone.push()
    assert done.code == 0, done.text
    copy = world.folder / "copy"
    assert git(copy, "status", "--short", "--untracked-files=no") == ""
    assert (copy / "functions/hello.yaml").read_text() == (
        (clone.folder / "functions/hello.yaml").read_text()
    )
    assert "hooksPath" not in (copy / ".git/config").read_text()


def test_a_working_copy_with_changes_refuses_a_push(world: World) -> None:
    clone, copy = world.clone("maintainer", "copy"), world.folder / "copy"
    clone.commit(world.next_version())
    before, file = world.tip(project="copy"), copy / "functions/hello.yaml"
    kept = file.read_text()
    file.write_text(f"{kept}# being written\n")
    done = clone.push()
    assert "the server's working folder has changes of this branch that are not" in done.text
    assert "hint: commit or stash them there, then push again" in done.text
    assert (world.tip(project="copy"), done.code) == (before, 1)
    file.write_text(kept)
    assert clone.push().code == 0


def test_what_an_owner_has_stashed_is_not_shown(world: World) -> None:
    copy = world.folder / "copy"
    git(copy, "update-ref", "refs/stash", "HEAD")
    git(copy, "update-ref", "refs/remotes/origin/secret", "HEAD")
    shown = world.clone("viewer", "copy").git("ls-remote", "origin").text
    assert "refs/heads/main" in shown
    assert "stash" not in shown
    assert "secret" not in shown


@pytest.mark.parametrize(
    "path",
    [
        "/git/shop.git/config", "/git/shop.git/HEAD", "/git/shop.git/objects/info/packs",
        "/git/../git/shop.git/info/refs", "/git/%2e%2e/shop.git/info/refs",
        "/git/shop%2egit/info/refs", "/git/x/../shop.git/info/refs", "/git/shop.git%2finfo/refs",
        "/git//shop.git/info/refs", "/git/shop.git/info/refs/", "/git/shop.git/git-upload-archive",
        "/git/shop/info/refs", "/git/.shop.git/info/refs", "/git",
    ],
)  # fmt: skip
def test_only_three_addresses_are_answered(world: World, path: str) -> None:
    target = f"{path}?service=git-upload-pack"
    address = httpx.URL(world.serving["control_url"])
    answer = subprocess.run(
        ["curl", "-s", "--path-as-is", "-u", f"me:{world.token()}", "-o", "-", "-w",
         "%{http_code}", f"http://{address.host}:{address.port}{target}"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert answer.endswith("404"), answer


def test_the_dumb_protocol_is_refused(world: World) -> None:
    answer = httpx.get(
        f"{world.url()}/info/refs", auth=("me", world.token()), timeout=PATIENCE_SECONDS
    )
    assert (answer.status_code, "smart protocol" in answer.text) == (403, True)


@pytest.mark.long
def test_pushes_are_in_the_audit_log(world: World) -> None:
    clone = world.clone("developer")
    commit = clone.commit(world.next_version())
    clone.push("origin", "HEAD:refs/heads/draft/noted")
    clone.push()
    old, who = world.tip(), "developer@example.com"
    expected = [
        (who, f"shop refs/heads/main {old[:12]}..{commit[:12]}", "refused"),
        (who, f"shop refs/heads/draft/noted new..{commit[:12]}", "done"),
    ]
    wait_for(lambda: noted(world, 2) == expected)


def noted(world: World, limit: int) -> list[tuple[str, str, str]]:
    return [(one.who, one.object, one.outcome) for one in world.book.audit.list(limit=limit)]


def test_hooks_that_are_gone_are_made_again(world: World) -> None:
    folder = world.state / "git"
    for file in (folder / "hooks").iterdir():
        file.unlink()
    (folder / "socket").unlink()
    clone, before = world.clone(), world.tip()
    clone.commit(BAD)
    assert (clone.push().code, world.tip()) == (1, before)


def test_the_socket_is_for_this_user_alone(world: World) -> None:
    assert world.clone("owner").push("origin", "HEAD:refs/tags/socket").code == 0
    assert (world.state / "git/socket").stat().st_mode & 0o777 == 0o600
    assert (world.state / "git").stat().st_mode & 0o777 == 0o700


def test_no_token_is_in_a_log(world: World) -> None:
    assert "bbp_" not in (world.folder / "home/log").read_text()
