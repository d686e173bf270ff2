"""`bbops serve URL` from outside: real git over file, http, git and a stand-in for ssh."""

from __future__ import annotations

import base64
import functools
import http.server
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.origin import QUICK, SLOW, Origin, origin, serve
from tests.support.patience import wait_for
from tests.support.served import Served, git

pytestmark = pytest.mark.long

__all__ = ["origin", "serve"]


def test_a_push_elsewhere_goes_live_here(origin: Origin, serve: Callable[..., Served]) -> None:
    served = serve(*QUICK)
    served.live()
    assert served.serving["source"] == origin.url
    for _ in range(3):
        assert served.live_of(origin.push())
    assert served.status()["name"] == "sample"
    state = served.home / ".bbops/state"
    refs = git(state / "mirror", "for-each-ref", "--format=%(refname)")
    assert refs.split() == [
        "refs/heads/main",
        *(f"refs/tags/bbops/sample/v{one}" for one in (1, 2, 3, 4)),
    ]
    assert not (state / "mirror/hooks").exists()


def test_reconcile_looks_at_once(origin: Origin, serve: Callable[..., Served]) -> None:
    served = serve(*SLOW)
    served.live()
    commit = origin.push()
    assert served.control.post("/api/projects/sample/reconcile").status_code == 202
    assert served.live_of(commit)


def test_reconcile_waits_for_the_newest_commit(
    origin: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*SLOW)
    served.live()
    commit = origin.push()
    done = served.bbops("reconcile", "--wait")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"live: {commit[:12]} as bbops/sample/v2 at {served.serving['url']}\n"
    assert served.live_of(commit)


def test_reconcile_reports_a_repository_out_of_reach(
    origin: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*SLOW)
    good = served.live()["release"]
    origin.bare.rename(origin.bare.with_name("away"))
    done = served.bbops("reconcile", "--wait")
    assert done.returncode == 1
    first, reason = done.stdout.splitlines()
    assert first == f"not live: {good} keeps serving [FetchFailed]"
    assert "git ls-remote" in reason


def test_a_repository_out_of_reach_is_named_and_found_again(
    origin: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*QUICK)
    good = served.live()["release"]
    away = origin.bare.rename(origin.bare.with_name("away"))
    stalled = served.stalled()
    assert stalled["reason"] == "FetchFailed"
    assert "git ls-remote" in stalled["hint"]
    ready = served.condition("Ready")
    assert (ready["status"], ready["message"]) == (False, f"{good} keeps serving")
    assert served.api.get("/api/me").headers["x-release"] == good
    assert len(served.status()["publications"]) == 1
    away.rename(origin.bare)
    served.event("found")
    assert served.condition("Ready")["status"] is True
    assert served.live_of(origin.push())


def test_a_restart_without_the_repository_serves_the_last_good_release(
    origin: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*QUICK)
    good = served.live()["release"]
    assert served.stop() == 0
    origin.bare.rename(origin.bare.with_name("away"))
    served = serve(*QUICK)
    assert served.stalled()["reason"] == "FetchFailed"
    assert served.api.get("/api/me").headers["x-release"] == good


def test_rewritten_history_is_held_until_somebody_accepts_it(
    origin: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*QUICK)
    good = served.live()["release"]
    other = origin.push_all("commit", "-q", "--amend", "-m", "Other", options=("-f",))
    stalled = served.stalled()
    assert stalled["reason"] == "HistoryRewritten"
    assert good in stalled["message"]
    assert other[:12] in stalled["message"]
    command = f"bbops accept {other} --server {served.serving['control_url']}"
    assert command in stalled["hint"]
    assert served.stop() == 0

    served = serve(*QUICK)
    assert served.stalled()["reason"] == "HistoryRewritten"
    assert served.api.get("/api/me").headers["x-release"] == good
    refused = served.bbops("accept", good)
    assert refused.returncode == 2
    assert f"{other[:12]} is" in refused.stderr
    shortened = served.bbops("accept", other[:12])
    assert "is a shortened id, which another commit can have, too" in shortened.stderr
    done = served.bbops("accept", other)
    assert done.returncode == 0, done.stderr
    assert served.live_of(other)
    assert served.bbops("accept", other).returncode == 2
    assert served.live_of(origin.push())
    git(origin.work, "reset", "-q", "--hard", other)
    again = origin.push_all("commit", "-q", "--allow-empty", "-m", "Again", options=("-f",))
    assert again[:12] in served.stalled()["message"]


def test_what_follows_an_accepted_commit_is_accepted(
    origin: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*SLOW)
    served.live()
    other = origin.push_all("commit", "-q", "--amend", "-m", "Other", options=("-f",))
    served.control.post("/api/projects/sample/reconcile")
    served.stalled()
    (served.home / ".bbops/state/accepted.json").write_text(
        f'{{"old": "{served.status()["applied_revision"][10:]}", "new": "{other}"}}'
    )
    newer = origin.push()
    served.control.post("/api/projects/sample/reconcile")
    assert served.live_of(newer)


def test_pushing_the_old_history_back_ends_the_hold(
    origin: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*QUICK)
    good = git(origin.work, "rev-parse", "HEAD")
    served.live()
    origin.push_all("commit", "-q", "--amend", "-m", "Other", options=("-f",))
    served.stalled()
    origin.push_all("reset", "-q", "--hard", good, options=("-f",))
    assert served.live_of(good)
    assert served.condition("Stalled")["status"] is False


def test_a_branch_that_vanishes_is_held_and_may_come_back(
    origin: Origin, serve: Callable[..., Served]
) -> None:
    served = serve(*QUICK)
    good = served.live()["release"]
    git(origin.bare, "update-ref", "-d", "refs/heads/main")
    stalled = served.stalled()
    assert stalled["reason"] == "BranchNotFound"
    assert good in stalled["message"]
    assert f"{good}:refs/heads/main" in stalled["hint"]
    assert served.api.get("/api/me").headers["x-release"] == good
    assert served.live_of(origin.push())


def test_a_bare_repository_here_is_held_too(origin: Origin, serve: Callable[..., Served]) -> None:
    served = serve(address=str(origin.bare))
    served.live()
    origin.push_all("commit", "-q", "--amend", "-m", "Other", options=("-f",))
    assert served.stalled()["reason"] == "HistoryRewritten"


def test_amending_in_a_work_tree_is_followed(origin: Origin, serve: Callable[..., Served]) -> None:
    served = serve(address=str(origin.work))
    served.live()
    git(origin.work, "commit", "-q", "--amend", "-m", "Better words")
    assert served.live_of(git(origin.work, "rev-parse", "HEAD"))


# ---- transports
@contextmanager
def http_server(folder: Path, *, password: str = "") -> Iterator[int]:
    """Serve files of a bare repository: what git calls dumb HTTP."""
    expected = f"Basic {base64.b64encode(f'ada:{password}'.encode()).decode()}"

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if password and self.headers.get("authorization") != expected:
                self.send_response(401)
                self.send_header("www-authenticate", 'Basic realm="git"')
                self.send_header("content-length", "0")
                self.end_headers()
                return
            super().do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    make = functools.partial(Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), make)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_a_repository_is_followed_over_http(
    origin: Origin, serve: Callable[..., Served], tmp_path: Path
) -> None:
    git(origin.bare, "update-server-info")
    with http_server(tmp_path) as port:
        served = serve(*QUICK, address=f"http://127.0.0.1:{port}/sample.git")
        served.live()
        assert served.live_of(origin.push())


def test_a_password_comes_from_gits_own_helper_and_shows_nowhere(
    origin: Origin, serve: Callable[..., Served], tmp_path: Path
) -> None:
    git(origin.bare, "update-server-info")
    with http_server(tmp_path, password="hunter2") as port:
        served = serve(*QUICK, address=f"http://127.0.0.1:{port}/sample.git")
        stalled = served.stalled()
        assert stalled["reason"] == "FetchFailed"
        assert "credentials come from git's helpers" in stalled["hint"]
        (served.home / ".git-credentials").write_text(f"http://ada:hunter2@127.0.0.1:{port}\n")
        (served.home / ".gitconfig").write_text("[credential]\n\thelper = store\n")
        served.event("found")
        served.live()
        assert "hunter2" not in str(served.status())
        assert "hunter2" not in (served.home / "log").read_text()


def test_a_repository_is_followed_over_gits_own_protocol(
    origin: Origin, serve: Callable[..., Served], tmp_path: Path
) -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    programs = Path(git(tmp_path, "--exec-path"))
    if not (programs / "git-daemon").exists():
        pytest.fail("git has no daemon here: install the package of git that brings it")
    options = ["--export-all", "--listen=127.0.0.1", f"--port={port}", f"--base-path={tmp_path}"]
    daemon = subprocess.Popen([programs / "git-daemon", "--reuseaddr", *options])
    try:
        url = f"git://127.0.0.1:{port}/sample.git"
        wait_for(
            lambda: not subprocess.run(["git", "ls-remote", "-q", url], check=False).returncode
        )
        served = serve(*QUICK, address=url)
        served.live()
        assert served.live_of(origin.push())
    finally:
        daemon.terminate()
        daemon.wait(10)


def test_a_repository_is_followed_over_ssh(
    origin: Origin, serve: Callable[..., Served], tmp_path: Path
) -> None:
    ssh = tmp_path / "ssh"  # no terminal, no question: runs what it is told, here
    ssh.write_text(
        f"#!{sys.executable}\nimport os, sys\n"
        "try:\n    os.open('/dev/tty', os.O_RDWR)\nexcept OSError:\n    pass\n"
        "else:\n    sys.exit('there is a terminal')\n"
        "assert 'git@host' in sys.argv, sys.argv\nos.execvp('sh', ['sh', '-c', sys.argv[-1]])\n"
    )
    ssh.chmod(0o755)
    env = {"GIT_SSH_COMMAND": str(ssh), "GIT_SSH_VARIANT": "ssh"}
    served = serve(*QUICK, address=f"git@host:{origin.bare}", env=env)
    served.live()
    assert served.serving["source"] == f"host:{origin.bare}"
    assert served.live_of(origin.push())


@contextmanager
def silent_server() -> Iterator[int]:
    """Accept connections and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "git"])
def test_a_host_that_never_answers_is_named_and_the_server_serves_on(
    origin: Origin, serve: Callable[..., Served], scheme: str
) -> None:
    served = serve(*QUICK)
    good = served.live()["release"]
    served.stop()
    with silent_server() as port:
        served = serve(*QUICK, address=f"{scheme}://127.0.0.1:{port}/sample.git")
        wait_for(lambda: served.api.get("/api/me").headers.get("x-release") == good)
        stalled = served.event("stalled", 60)
        assert stalled["reason"] == "FetchFailed"
        assert served.api.get("/api/me").headers["x-release"] == good
        assert served.stop() == 0


def test_an_address_with_a_password_is_refused_with_the_cure(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "bbops", "serve", "https://ada:hunter2@example.org/a.git"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "hunter2" not in done.stderr
    assert "'https://example.org/a.git' was given with a password" in done.stderr
    assert "credential helper" in done.stderr
    assert list(tmp_path.iterdir()) == []
