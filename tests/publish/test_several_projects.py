"""`bbops serve server.yaml` from outside: projects come, move, break and go beside each other."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import warm
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.processes import children
from tests.support.served import Served, environment, git
from tests.support.several import TWO, YAML, Several, folder, make, serve
from tests.support.small_project import hello, write_project

pytestmark = pytest.mark.long

__all__ = ["folder", "serve"]

THREE = f"{TWO}  three: {{ repository: ./three, pathPrefix: /three }}\n"
ONLY_TWO = "projects:\n  two: { repository: ./two, hosts: [two.test] }\n"


def test_each_project_answers_at_its_own_place_with_its_own_data(
    serve: Callable[..., Several],
) -> None:
    served = serve()
    assert served.serving["source"] == str(served.file)
    assert served.ask("/one/hello").json() == {"text": "hello", "version": 1}
    assert served.ask("/hello", "two.test").json() == {"text": "hello", "version": 1}
    nowhere = served.ask("/hello")
    assert nowhere.status_code == 404
    assert nowhere.json() == {
        "error": {"code": "notFound", "message": "no project answers here"}
    }  # fmt: skip
    served.api.post("/one/notes", json={"title": "of one"})
    assert served.ask("/one/notes").json()[0]["title"] == "of one"
    assert served.ask("/notes", "two.test").json() == []
    listed = {one["name"]: one["url"] for one in served.control.get("/api/projects").json()}
    port = httpx.URL(served.serving["url"]).port
    assert listed == {"one": f"http://127.0.0.1:{port}/one", "two": f"http://two.test:{port}"}
    ready = served.ask("/~ready")
    assert (ready.status_code, sorted(ready.json()["projects"])) == (200, ["one", "two"])
    commit = served.commit_version("two", 2)
    assert served.until("live", "two")["release"] == commit[:12]
    assert served.ask("/hello", "two.test").json()["version"] == 2
    assert served.ask("/one/hello").json()["version"] == 1
    assert sorted(path.name for path in (served.state / "projects").iterdir()) == ["one", "two"]


@contextmanager
def hammering(served: Several, path: str) -> Iterator[list[Any]]:
    """Ask without a pause from two threads, and collect the answers' statuses."""
    over, seen = threading.Event(), list[Any]()

    def ask() -> None:
        with httpx.Client(base_url=served.serving["url"], timeout=PATIENCE_SECONDS) as client:
            while not over.is_set():
                try:
                    seen.append(client.get(path).status_code)
                except httpx.HTTPError as error:
                    seen.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    yield seen
    over.set()
    for thread in threads:
        thread.join()


def test_projects_come_move_and_go_without_dropping_a_request(
    serve: Callable[..., Several],
) -> None:
    served = serve()
    with hammering(served, "/one/hello") as seen:
        served.change(THREE)
        assert served.until("applied")["added"] == ["three"]
        served.until("live", "three")
        assert served.ask("/three/hello").status_code == 200
        served.change(THREE.replace("/three", "/3"))
        assert served.until("applied")["changed"] == ["three"]
        assert served.ask("/3/hello").status_code == 200
        assert served.ask("/three/hello").status_code == 404
        served.change(TWO)
        assert served.until("applied")["removed"] == ["three"]
        assert served.ask("/3/hello").status_code == 404
        served.change(THREE)
        wait_for(lambda: served.ask("/three/hello").status_code == 200)
        asked = len(seen)
        wait_for(lambda: len(seen) > asked + 50)
    assert set(seen) == {200}
    assert (served.state / "projects/three/data.sqlite").exists()


def test_what_is_under_way_when_a_project_goes_is_answered(serve: Callable[..., Several]) -> None:
    served, answers = serve(), list[httpx.Response]()
    asking = threading.Thread(
        target=lambda: answers.append(httpx.get(f"{served.serving['url']}/one/slow", timeout=30))
    )
    asking.start()
    time.sleep(0.3)
    served.change(ONLY_TWO)
    served.until("applied")
    assert served.ask("/one/hello").status_code == 404
    assert not answers
    asking.join()
    assert answers[0].json() == {"done": True}


def test_a_file_with_mistakes_changes_nothing_and_is_shown_everywhere(
    serve: Callable[..., Several],
) -> None:
    served = serve()
    served.change(TWO.replace("hosts", "host"))
    (found,) = served.until("refused")["diagnostics"]
    assert (found["line"], found["code"], found["hint"]) == (
        4,
        "unknown-key",
        "did you mean 'hosts'?",
    )
    assert served.ask("/hello", "two.test").status_code == 200
    assert served.control.get("/api/server").json()["diagnostics"] == [found]
    shown = "server.yaml:4:29: error: unknown key 'host' [unknown-key]"
    assert shown in served.control.get("/").text
    status = served.bbops("status")
    assert status.returncode == 1
    assert shown in status.stdout
    served.file.unlink()
    assert served.until("refused")["diagnostics"][0]["code"] == "unreadable"
    assert served.ask("/one/hello").status_code == 200
    served.change(THREE)
    assert served.until("applied")["added"] == ["three"]
    served.until("live", "three")
    assert served.control.get("/api/server").json()["diagnostics"] == []
    assert served.bbops("status").returncode == 0


def test_what_needs_a_restart_is_said(serve: Callable[..., Several]) -> None:
    served = serve()
    served.change(f"workers: 2\n{TWO}")
    (found,) = served.until("applied")["diagnostics"]
    assert (found["code"], found["severity"], found["line"]) == ("needs-restart", "warning", 1)
    assert "'workers' stays '1'" in served.control.get("/").text
    assert served.bbops("status").returncode == 0


@contextmanager
def silent_server() -> Iterator[int]:
    """Accept connections and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_broken_repository_hinders_no_other_project(serve: Callable[..., Several]) -> None:
    with silent_server() as port:
        broken = (
            "  gone: { repository: ./nowhere, pathPrefix: /gone }\n"
            f"  silent: {{ repository: 'http://127.0.0.1:{port}/x.git', pathPrefix: /silent }}\n"
            "  away: { repository: 'file:///nowhere/x.git', pathPrefix: /away }\n"
        )
        served = serve(TWO + broken, "--poll", "0.2")
        wait_for(lambda: served.reason("away") == "FetchFailed")
        assert served.reason("gone") == "RepositoryGone"
        served.commit_version("one", 2)
        assert served.until("live", "one", seconds=5)
        assert served.ask("/gone/hello").status_code == 503
        assert served.ask("/~ready").status_code == 200
        make(served.file.parent / "nowhere")
        served.until("live", "gone")
        assert served.ask("/gone/hello").status_code == 200


def test_another_branch_or_repository_is_followed_while_the_last_release_serves_on(
    serve: Callable[..., Several], folder: Path
) -> None:
    served = serve()
    git(folder / "one", "branch", "old")
    bare = folder / "other.git"
    git(folder, "clone", "-q", "--bare", str(make(folder / "other")), str(bare))
    with hammering(served, "/one/hello") as seen:
        served.change(TWO.replace("./one", "./nowhere"))
        served.until("applied")
        served.until("stalled", "one")
        assert served.ask("/one/hello").json()["version"] == 1
        assert served.told("one")["release"]
        served.change(TWO.replace("./one", f"file://{bare}"))
        commit = git(bare, "rev-parse", "main")
        assert served.until("live", "one")["release"] == commit[:12]
        served.change(TWO.replace("./one", "./one, branch: old"))
        assert served.until("live", "one")["revision"].startswith("old@sha1:")
    assert set(seen) == {200}


def test_secrets_are_of_one_project_and_not_from_the_environment(
    serve: Callable[..., Several], folder: Path
) -> None:
    for name in ("one", "two"):
        path = folder / name / "project.yaml"
        path.write_text(path.read_text().replace("{ default: hello }", "{}"))
        git(folder / name, "commit", "-qam", "Need a greeting")
    served = serve(live=(), env={"GREETING": "of another"})
    stalled = served.until("stalled", "one")
    assert stalled["reason"] == "EnvMissing"
    command = f"bbops env set GREETING --state {served.state} --project one"
    assert stalled["hint"] == command

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return warm.run(arguments, cwd=folder, env=environment(served.home))

    assert "choose one with --project: one, two" in run("env", "set", "GREETING", "hi").stderr
    assert "it holds one, two" in run("env", "set", "GREETING", "hi", "--project", "x").stderr
    assert run("env", "set", "GREETING", "moin", "--project", "one").returncode == 0
    served.until("live", "one")
    assert served.ask("/one/hello").json()["text"] == "moin"
    assert run("env", "list", "--project", "one").stdout.split() == ["GREETING", "SECRET"]
    assert run("env", "list", "--project", "two").stdout.split() == ["SECRET"]
    assert served.told("two")["release"] is None


def test_commands_ask_about_one_of_several(serve: Callable[..., Several]) -> None:
    served = serve()
    served.ask("/one/hello")
    wait_for(lambda: served.control.get("/api/projects/one/requests").json())
    assert "/hello" in served.bbops("requests", "one").stdout
    assert "no recorded request matches" in served.bbops("requests", "two").stdout
    assert "has one, two" in served.bbops("requests").stderr
    assert "choose one with --project: one, two" in served.bbops("accept", "0123456").stderr
    assert "'onee'" in served.bbops("status", "onee").stderr
    status = served.bbops("status", "two")
    assert status.returncode == 0
    assert "one" not in status.stdout


def data_pids(served: Several) -> list[int]:
    return children(served.process.pid, "bbops_server.data_plane")


def test_every_process_serves_every_project_and_so_does_one_that_takes_its_place(
    serve: Callable[..., Several],
) -> None:
    served = serve(f"workers: 3\n{TWO}")
    first = data_pids(served)
    assert len(first) == 3
    served.commit_version("one", 2)
    served.until("live", "one")
    served.change(THREE)
    served.until("live", "three")
    for pid in first[:2]:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: len(set(data_pids(served)) - set(first)) == 2)
    time.sleep(1)

    def ask(path: str, host: str = "localhost") -> Any:
        # another process each time
        with httpx.Client(base_url=served.serving["url"], timeout=PATIENCE_SECONDS) as client:
            return client.get(path, headers={"host": host}).json()["version"]

    for _ in range(20):
        versions = ask("/one/hello"), ask("/hello", "two.test"), ask("/three/hello")
        assert versions == (2, 1, 1)


def test_a_restart_serves_every_project_again_though_its_repository_is_gone(
    serve: Callable[..., Several], folder: Path
) -> None:
    served = serve()
    assert served.stop() == 0
    (folder / "one").rename(folder / "away")
    served = serve("", live=())
    served.until("stalled", "one")
    wait_for(lambda: served.ask("/~ready").status_code == 200)
    assert served.ask("/one/hello").status_code == 200


def test_a_signal_makes_it_read_the_file_at_once(serve: Callable[..., Several]) -> None:
    served = serve()
    served.file.write_text(THREE)
    served.process.send_signal(signal.SIGHUP)
    assert served.until("applied")["added"] == ["three"]


def test_a_proxy_that_is_known_says_who_asks(serve: Callable[..., Several], folder: Path) -> None:
    (folder / "one/functions/hello.yaml").write_text(
        "steps:\n  - return: { value: '${ request.ip }' }\n"
    )
    git(folder / "one", "commit", "-qam", "Tell who asks")
    served = serve()

    def client() -> Any:
        headers = {"x-forwarded-for": "203.0.113.9, 198.51.100.7"}
        return served.api.get("/one/hello", headers=headers).json()

    assert client() == "127.0.0.1"
    served.change(f"proxies: [127.0.0.0/8]\n{TWO}")
    served.until("applied")
    assert client() == "198.51.100.7"


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm.run(["serve", *arguments], cwd=folder, env=environment(folder))


def test_a_server_does_not_start_with_mistakes_in_its_file(folder: Path) -> None:
    (folder / YAML).write_text("projects: []\n")
    done = start(folder)
    assert done.returncode == 1
    assert "server.yaml:1:11: error: 'projects' needs a map, got a list" in done.stderr
    assert start(folder, "other.yaml").returncode == 1


def test_options_of_one_project_belong_into_the_file(folder: Path) -> None:
    (folder / YAML).write_text(TWO)
    done = start(folder, YAML, "--branch", "main")
    assert done.returncode == 2
    assert "'--branch' is an option of one project" in done.stderr
    assert "say 'branch' in 'server.yaml'" in done.stderr


def test_one_project_may_have_several_processes(folder: Path, tmp_path: Path) -> None:
    with Served(folder / "one", tmp_path / "home", "--workers", "3") as served:
        served.live()
        write_project(folder / "one", hello(2))
        assert served.live_of(served.commit())
        for _ in range(20):
            reply = httpx.get(f"{served.serving['url']}/hello", timeout=PATIENCE_SECONDS)
            assert reply.json()["version"] == 2
        assert (folder / "one/.bbops/state/data.sqlite").exists()
