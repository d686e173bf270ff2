"""Pushes that go wrong on their way: cut off, too large, while the server ends, by shared hands."""

from __future__ import annotations

import gzip
import hashlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from bbops.source.git.environment import bounded
from bbops_server.accounts.rules import Role
from bbops_server.git_http.backend import PUSH_LIMITS
from bbops_server.publish.holds.held import Suspension, resume, suspend
from tests.support.hostile_packs import make_delta_bomb
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.pushing import BAD, Clone, World, make_repository
from tests.support.served import Served, git
from tests.support.several import Several
from tests.support.small_project import hello

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as world:
        yield world


def backends(world: World) -> list[str]:
    """Return the processes that git runs for the server."""
    mark = f"GIT_PROJECT_ROOT={world.folder}".encode()
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


def begin_push(world: World, *more: str, who: str = "owner") -> socket.socket:
    """Begin a push that never ends; return its connection."""
    address = httpx.URL(world.serving["control_url"])
    connection = socket.create_connection((address.host, address.port or 80))
    headers = [
        "POST /git/shop.git/git-receive-pack HTTP/1.1", f"host: {address.host}",
        "content-type: application/x-git-receive-pack-request",
        f"authorization: Bearer {world.token(who)}",
    ]  # fmt: skip
    connection.sendall("\r\n".join([*headers, *more, "", ""]).encode())
    return connection


def begin_chunks(world: World) -> socket.socket:
    """Begin a push in chunks, whose first is there."""
    connection = begin_push(world, "transfer-encoding: chunked")
    connection.sendall(b"4\r\n00a5\r\n")
    return connection


def test_who_disconnects_leaves_no_process_behind(world: World) -> None:
    with begin_chunks(world):
        wait_for(lambda: len(backends(world)) >= 2)
    wait_for(lambda: not backends(world))


def test_a_push_that_is_cut_off_changes_nothing(world: World) -> None:
    clone, before = world.clone(), world.tip()
    clone.commit({"big.bin": os.urandom(8 << 20).hex()})
    clone.cut_off("HEAD:main", 0.2)
    wait_for(lambda: not backends(world))
    assert (world.tip(), list((world.folder / "shop").rglob("*.lock"))) == (before, [])
    clone.git("reset", "-q", "--hard", "HEAD~1")
    clone.commit(world.next_version())
    assert clone.push().code == 0


@pytest.mark.parametrize("change", ["none", "kept out", "role"])
def test_who_leaves_while_a_push_arrives_pushes_nothing(world: World, change: str) -> None:
    who = f"leaver-{change.replace(' ', '-')}"
    world.people[who] = world.add(who, None, Role.DEVELOPER)
    line = f"{'0' * 40} {world.tip()} refs/heads/{who}\0 report-status side-band-64k"
    pack = b"PACK" + bytes([0, 0, 0, 2, 0, 0, 0, 0])
    body = f"{len(line) + 4:04x}{line}0000".encode() + pack + hashlib.sha1(pack).digest()
    with begin_push(world, "transfer-encoding: chunked", who=who) as connection:
        connection.sendall(b"%x\r\n%s\r\n" % (len(body) - 9, body[:-9]))
        wait_for(lambda: len(backends(world)) >= 2)
        if change == "kept out":
            world.book.people.disable(world.people[who])
        elif change == "role":
            world.book.members.set_role(world.people[who], Role.VIEWER, "shop")
        connection.sendall(b"9\r\n%s\r\n0\r\n\r\n" % body[-9:])
        connection.settimeout(20)
        answer = b""
        while b"0000\r\n" not in answer and (more := connection.recv(4096)):
            answer += more
    assert (b"has changed in the meantime; push again" in answer) is (change != "none"), answer
    assert bool(world.tip(f"refs/heads/{who}")) is (change == "none"), answer


def test_a_length_that_is_too_large_is_refused_before_it_comes(world: World) -> None:
    with begin_push(world, f"content-length: {1 << 30}", "expect: 100-continue") as connection:
        connection.settimeout(10)
        answer = b""
        while b"a push may bring at most 64 MiB" not in answer:
            answer += connection.recv(4096)
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_git_says_what_is_too_large(world: World) -> None:
    clone, before = world.clone(), world.tip()
    big = clone.folder / "big.bin"
    with big.open("wb") as file:
        for _ in range(65):
            file.write(os.urandom(1 << 20))
    git(clone.folder, "-c", "core.bigFileThreshold=1", "add", "-A")
    git(clone.folder, "commit", "-qm", "Large")
    done = clone.push()
    assert "pack exceeds maximum allowed size" in done.text
    assert (done.code, world.tip()) == (1, before)


def test_a_body_may_be_gzip(world: World) -> None:
    url, auth = f"{world.url()}/git-upload-pack", ("me", world.token("viewer"))
    body = gzip.compress(b"0014command=ls-refs\n0000")
    headers = {
        "content-type": "application/x-git-upload-pack-request", "content-encoding": "gzip",
        "git-protocol": "version=2",
    }  # fmt: skip
    answer = httpx.post(url, auth=auth, headers=headers, content=body, timeout=PATIENCE_SECONDS)
    assert (answer.status_code, "refs/heads/main" in answer.text) == (200, True)


def test_a_small_body_does_not_become_gigabytes(world: World) -> None:
    url, auth = f"{world.url()}/git-upload-pack", ("me", world.token("viewer"))
    have = f"0032have {world.tip()}\n".encode()
    body = gzip.compress(b"0012command=fetch\n0001" + have * 2_000_000)
    headers = {
        "content-type": "application/x-git-upload-pack-request", "content-encoding": "gzip",
        "git-protocol": "version=2",
    }  # fmt: skip
    answer = httpx.post(url, auth=auth, headers=headers, content=body, timeout=30)
    assert (len(body) < 1 << 20, answer.status_code) == (True, 413)
    assert "at most 10 MiB once it is unpacked" in answer.text


def test_who_has_no_role_in_a_neighbour_neither_reads_nor_changes_it(world: World) -> None:
    url, folder = world.url(world.token("maintainer"), "left"), world.folder
    done = Clone(folder, url).git("clone", "-q", url, str(folder / "refused"))
    assert "this repository holds other projects, too, which you may not read" in done.text
    assert done.code == 128


def test_a_push_is_live_in_every_project_that_follows_it(world: World) -> None:
    clone = world.clone("owner", "left")
    clone.commit({f"{name}/functions/hello.yaml": hello_of(7) for name in ("left", "right")})
    done = clone.push()
    assert done.code == 0, done.text
    assert (world.version("left"), world.version("right")) == (7, 7)
    clone.commit({"right/functions/hello.yaml": BAD["functions/hello.yaml"]})
    refused = clone.push().text
    assert "'main' of 'right' would not work:" in refused
    assert "remote: right/functions/hello.yaml:2:31: error: " in refused


def hello_of(version: int) -> str:
    return hello(version)["functions/hello.yaml"]


def test_a_project_that_is_kept_elsewhere_says_where(world: World) -> None:
    answer = httpx.get(
        f"{world.url(project='away')}/info/refs?service=git-receive-pack",
        auth=("me", world.token("owner")),
        timeout=PATIENCE_SECONDS,
    )
    expected = f"project 'away' is kept elsewhere: clone and push file://{world.folder}/shop\n"
    assert (answer.status_code, answer.text) == (403, expected)


def test_a_push_that_cannot_go_live_says_why(world: World) -> None:
    clone = world.clone()
    text = (clone.folder / "project.yaml").read_text()
    clone.commit({"project.yaml": f"{text}  NEEDED: {{ secret: true }}\n"})
    done = clone.push()
    assert done.code == 0  # it is in main
    assert "[EnvMissing]\n" in done.text
    assert "remote: no value for NEEDED\n" in done.text
    assert "hint: bbops env set NEEDED" in done.text
    clone.commit({"project.yaml": text})
    assert "live: " in clone.push().text


def test_a_push_while_nothing_may_go_live_says_so(world: World) -> None:
    state = world.state / "projects/shop"
    suspend(state, Suspension("ada", datetime.now(UTC), "stocktaking"))
    clone = world.clone()
    commit = clone.commit(world.next_version())
    done = clone.push()
    assert (done.code, world.tip()) == (0, commit)
    assert "[Suspended]" in done.text
    assert resume(state)
    text = (clone.folder / "functions/hello.yaml").read_text()
    wait_for(lambda: f"version: {world.version()} " in text)


def test_a_branch_that_changes_by_proposals_takes_no_push(world: World) -> None:
    clone = world.clone("owner", "copy")
    text = (clone.folder / "project.yaml").read_text()
    clone.commit({"project.yaml": f"{text}review: {{ main: proposals }}\n"})
    assert clone.push().code == 0
    before = clone.git("rev-parse", "HEAD").text
    clone.commit({"project.yaml": text})  # what is pushed does not decide about itself
    done = clone.push()
    assert "branch 'main' only accepts changes through proposals" in done.text
    assert world.tip(project="copy") == before


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ends_in_the_middle_leaves_a_whole_repository(
    tmp_path: Path, how: int
) -> None:
    with World(tmp_path / "world") as world:
        clone, before = world.clone(), world.tip()
        with begin_chunks(world):
            wait_for(lambda: len(backends(world)) >= 2)
            world.stop(how)
            wait_for(lambda: not backends(world))
    shop = world.folder / "shop"
    assert (world.tip(), list(shop.rglob("*.lock"))) == (before, [])
    with Several(world.folder, "") as again:
        again.until("live", "shop")
        assert again.api.get("/shop/hello").json()["version"] == 1
    assert clone.folder.exists()


def test_storms_of_pushes_end_in_a_repository_that_is_whole(world: World) -> None:
    """Six people push drafts and main at once, some of them cut off."""
    clones = [world.clone(name) for name in ("owner", "maintainer", "developer") for _ in "ab"]
    until = time.monotonic() + 20

    def push(clone: Clone, number: int) -> None:
        while time.monotonic() < until:
            clone.git("fetch", "-q", "origin")
            clone.git("reset", "-q", "--hard", "origin/main")
            clone.commit(world.next_version())
            target = "main" if number < 4 else f"refs/heads/draft/{number}"
            if number % 3 == 2:
                clone.cut_off(f"HEAD:{target}", 0.02 * number)
            else:
                clone.push("origin", f"HEAD:{target}")

    threads = [threading.Thread(target=push, args=(one, n)) for n, one in enumerate(clones)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for(lambda: not backends(world))
    shop = world.folder / "shop"
    assert list(shop.rglob("*.lock")) == []
    assert git(shop, "fsck", "--no-dangling", "--no-progress") == ""
    last = world.clone("owner")
    commit = last.commit(world.next_version())
    assert last.push().code == 0
    assert world.tip() == commit


def test_while_nobody_has_an_account_this_machine_pushes_without_a_token(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "small", bare=True)
    with Served(repository, tmp_path / "home") as served:
        served.live()
        url = f"{served.serving['control_url']}/git/small.git"
        clone = Clone(tmp_path, url)
        assert clone.git("clone", "-q", url, "work").code == 0
        clone.folder = tmp_path / "work"
        commit = clone.commit(hello(2))
        assert f"live: {commit[:12]}" in clone.push().text


def test_a_small_pack_of_huge_objects_is_refused(world: World) -> None:
    clone, before = world.clone("maintainer"), world.tip()
    (clone.folder / "zeros").write_bytes(bytes(65 << 20))
    clone.git("add", "-A")
    clone.git("commit", "-qm", "Add zeros")
    done = clone.push("origin", "HEAD:draft-of-zeros")
    assert done.code == 1
    assert "an object of this push has 68,157,440 bytes, at most 67,108,864 are taken" in done.text
    assert (world.tip(), world.tip("refs/heads/draft-of-zeros")) == (before, "")


def test_deltas_that_unpack_to_gigabytes_are_ended_by_a_limit_of_memory(world: World) -> None:
    tip, url = world.tip(), world.url(project="shop")
    line = f"{'0' * 40} {tip} refs/heads/deltas\0 report-status".encode()
    body = b"%04x%s0000" % (len(line) + 4, line) + make_delta_bomb(1_200_000_000)
    assert len(body) < 1000
    sent = httpx.post(
        f"{url}/git-receive-pack", content=body, auth=("me", world.token()), timeout=60,
        headers={"content-type": "application/x-git-receive-pack-request"},
    )  # fmt: skip
    assert b"abnormal exit" in sent.content, sent.content
    assert world.tip("refs/heads/deltas") == ""


def test_git_has_two_minutes_of_the_processor_and_a_gigabyte_for_a_push() -> None:
    asked = ("sh", "-c", "ulimit -S -t; ulimit -S -v")
    done = subprocess.run([*bounded(PUSH_LIMITS), *asked], capture_output=True, check=True)
    assert done.stdout.split() == [b"120", str(1 << 20).encode()]


def test_four_pushes_of_one_person_at_once_all_arrive(world: World) -> None:
    clones = [world.clone("developer") for _ in range(4)]
    for number, clone in enumerate(clones):
        clone.git("commit", "-q", "--allow-empty", "-m", f"At once {number}")
    with ThreadPoolExecutor(4) as pool:
        done = [
            pool.submit(clone.push, "origin", f"HEAD:at-once-{number}")
            for number, clone in enumerate(clones)
        ]
        texts = [one.result() for one in done]
    assert [one.code for one in texts] == [0] * 4, [one.text for one in texts]
