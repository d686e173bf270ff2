"""What a push may do to a ref, how many there may be, and what a request to git's part may say."""

from __future__ import annotations

import asyncio
import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bbops.base.diagnostics import Severity
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops_server.commands._report import Terminal
from bbops_server.git_http.backend import Refusal, Unpacking, read_request
from bbops_server.git_http.checking import MOST_TOLD, render_found
from bbops_server.git_http.hooks import SCRIPT, HookInput, Hooks, Say
from bbops_server.git_http.refs import Rights, find_complaint, read_updates
from bbops_server.publish.status.events import ServerReady

pytestmark = pytest.mark.quick

NONE, ONE, TWO = "0" * 40, "1" * 40, "2" * 40
MAY = Rights(live={"main"}, reviewed=(), may_publish=True)


def complain(line: str, rights: Rights = MAY) -> str:
    (update,) = read_updates([line])
    return str(find_complaint(update, rights) or "")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"{ONE} {TWO} refs/heads/main", ""),
        (f"{NONE} {TWO} refs/heads/main", ""),
        (f"{ONE} {NONE} refs/heads/main", "cannot be deleted"),
        (f"{NONE} {TWO} refs/heads/draft", ""),
        (f"{ONE} {NONE} refs/heads/draft", ""),
        (f"{NONE} {ONE} refs/tags/tried", ""),
        (f"{NONE} {ONE} refs/tags/vendor", ""),
        (f"{NONE} {ONE} refs/tags/v1", "name what went live"),
        (f"{ONE} {NONE} refs/tags/v12.0", "name what went live"),
        (f"{NONE} {ONE} refs/pull/1/head", "cannot be pushed"),
        (f"{NONE} {ONE} refs/notes/commits", "cannot be pushed"),
        (f"{NONE} {ONE} HEAD", "cannot be pushed"),
        (f"{NONE} {ONE} refs/for/main/cart", ""),
        (f"{NONE} {ONE} refs/for/main", ""),
        (f"{NONE} {ONE} refs/for/maintenance", "is not the branch that this project"),
        (f"{NONE} {ONE} refs/for/main/{'x' * 101}", "at most 100 letters"),
        (f"{NONE} {ONE} refs/heads/proposal-7", "shows a proposal"),
        (f"{NONE} {ONE} refs/heads/proposal-7/x", "'proposal-7' shows a proposal"),
        (f"{NONE} {ONE} refs/heads/proposal-next", ""),
        (f"{NONE} {ONE} refs/tags/shop/v2", "name what went live"),
        (f"{NONE} {ONE} refs/tags/bbops", "tags below it name what went live"),
        (f"{NONE} {ONE} refs/tags/bbops/shop", "tags below it name what went live"),
        (f"{NONE} {ONE} refs/tags/bbops/shop/snapshot/old", ""),
        (f"{NONE} {ONE} refs/tags/main", "git would take it for a branch"),
        (f"{NONE} {ONE} refs/tags/origin/main", "git would take it for a branch"),
        (f"{NONE} {ONE} refs/tags/HEAD", "git would take it for a branch"),
        (f"{NONE} {ONE} refs/tags/domain", ""),
    ],
)
def test_each_ref_has_its_rule(line: str, words: str) -> None:
    found = complain(line)
    assert bool(found) == bool(words)
    assert words in found


def test_a_reviewed_branch_is_pushed_by_nobody() -> None:
    rights = Rights(live={"main", "next"}, reviewed={"main"}, may_publish=True)
    told = complain(f"{ONE} {TWO} refs/heads/main", rights)
    assert "only accepts changes through proposals" in told
    assert complain(f"{ONE} {TWO} refs/heads/next", rights) == ""


def scope(path: str, method: str = "POST", query: bytes = b"", **headers: str) -> dict[str, Any]:
    given = {"content-type": "application/x-git-receive-pack-request"} | headers
    fields = [(name.replace("_", "-").encode(), text.encode()) for name, text in given.items()]
    return {"raw_path": path.encode(), "method": method, "query_string": query, "headers": fields}


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (scope("/git/shop.git/git-receive-pack", "GET"), 405),
        (scope("/git/shop.git/git-upload-pack"), 415),
        (scope("/git/shop.git/git-receive-pack", content_encoding="br"), 415),
        (scope("/git/shop.git/info/refs", "GET", b"service=git-upload-archive"), 403),
        (scope("/git/shop.git/info/refs", "POST", b"service=git-upload-pack"), 405),
        (scope("/git/shop.git/info/refs", "GET", b"service=git-upload-pack&x=1"), 403),
    ],
)
def test_what_is_no_request_of_git_is_refused(given: dict[str, Any], status: int) -> None:
    with pytest.raises(Refusal) as refused:
        read_request(given)
    assert refused.value.status == status


def test_git_is_told_only_what_it_has_to_know() -> None:
    path = "/git/shop.git/git-receive-pack"
    sent = {"git_protocol": "version=2", "content_encoding": "x-gzip", "cookie": "a=b"}
    asked = read_request(scope(path, **sent))
    assert asked.is_packed
    assert asked.variables == {
        "PATH_INFO": "/git-receive-pack", "REQUEST_METHOD": "POST", "GIT_PROTOCOL": "version=2",
        "CONTENT_TYPE": "application/x-git-receive-pack-request",
    }  # fmt: skip
    odd = read_request(scope(path, git_protocol="version=2:evil", content_length="12"))
    assert "GIT_PROTOCOL" not in odd.variables
    assert odd.variables["CONTENT_LENGTH"] == "12"


def test_what_is_packed_is_bounded_as_it_is_unpacked() -> None:
    pieces = Unpacking(10 << 20).feed(gzip.compress(bytes(1 << 26)))
    assert sum(len(next(pieces)) for _ in range(40)) == 10 << 20
    with pytest.raises(Refusal, match="at most 10 MiB once it is unpacked"):
        next(pieces)
    halves = Unpacking(100)
    whole = gzip.compress(b"want this")
    assert b"".join([*halves.feed(whole[:9]), *halves.feed(whole[9:])]) == b"want this"
    with pytest.raises(Refusal, match="is not"):
        [*Unpacking(100).feed(b"want this")]


def test_of_many_diagnostics_the_errors_are_shown_first() -> None:
    def found(number: int, severity: Severity) -> JsonDiagnostic:
        return JsonDiagnostic(severity, "x", "a.yaml", number, 1, "odd")

    many = [found(number, "warning") for number in range(99)] + [found(999, "error")]
    text = render_found(many, "apps/api")
    assert text.startswith("apps/api/a.yaml:999:1: error: odd [x]")
    assert text.endswith(f", and {100 - MOST_TOLD} more that are not shown")


@pytest.mark.parametrize(
    ("mode", "setup_url", "is_told"),
    [("serve", "", True), ("serve", "http://x/setup", False), ("dev", "", False)],
)
def test_the_first_screen_names_git_where_there_are_accounts(
    capsys: pytest.CaptureFixture[str], mode: str, setup_url: str, *, is_told: bool
) -> None:
    Terminal(mode=mode)("", ServerReady("http://x", "http://c", "/srv/shop", setup_url))
    assert ("http://c/git/NAME.git is the git URL" in capsys.readouterr().out) is is_told


def run_hook(hook: str, environment: dict[str, str], given: str = "") -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-ISE", str(SCRIPT), hook], input=given, capture_output=True, text=True,
        check=False, env={"PATH": os.environ["PATH"]} | environment, timeout=30,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_a_hook_that_reaches_nobody_says_no(tmp_path: Path) -> None:
    expected = (1, "the server cannot be asked; nothing was changed, try again\n")
    assert run_hook("pre-receive", {}) == expected
    gone = {"BBOPS_PUSH": "x", "BBOPS_SOCKET": str(tmp_path / "gone")}
    assert run_hook("pre-receive", gone) == expected


async def answered(folder: Path, answer: Any, more: dict[str, str] | None = None) -> Any:
    hooks = Hooks(folder)
    await hooks.open()
    try:
        with hooks.answering(answer) as variables:
            environment = variables | (more or {})
            line = f"{ONE} {TWO} refs/heads/main\n"
            return await asyncio.to_thread(run_hook, "pre-receive", environment, line)
    finally:
        await hooks.close()


def test_a_hook_says_what_it_is_told_and_decides_so(tmp_path: Path) -> None:
    heard: list[HookInput] = []

    async def answer(told: HookInput, say: Say) -> bool:
        heard.append(told)
        await say("well")
        return True

    more = {
        "GIT_PUSH_OPTION_COUNT": "1", "GIT_PUSH_OPTION_0": "title=A\nB", "GIT_QUARANTINE_PATH": "q"
    }  # fmt: skip
    assert asyncio.run(answered(tmp_path / "git", answer, more)) == (0, "well\n")
    line = f"{ONE} {TWO} refs/heads/main"
    assert heard == [HookInput("pre-receive", "q", ("title=A B",), (line,))]


@pytest.mark.parametrize("error", [ValueError("odd"), KeyError("x"), ZeroDivisionError()])
def test_a_hook_whose_answer_fails_says_no(tmp_path: Path, error: Exception) -> None:
    async def answer(told: HookInput, say: Say) -> bool:
        raise error

    code, text = asyncio.run(answered(tmp_path / "git", answer))
    assert (code, "could not check this push" in text) == (1, True)


def test_a_hook_of_another_push_says_no(tmp_path: Path) -> None:
    async def answer(told: HookInput, say: Say) -> bool:
        return True

    assert asyncio.run(answered(tmp_path / "git", answer, {"BBOPS_PUSH": "other"})) == (1, "")


def test_a_socket_in_a_deep_folder_is_made_elsewhere(tmp_path: Path) -> None:
    async def answer(told: HookInput, say: Say) -> bool:
        return True

    deep = tmp_path / ("a" * 100)
    deep.mkdir()
    assert asyncio.run(answered(deep / "git", answer)) == (0, "")
