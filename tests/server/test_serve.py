"""`bbops serve` from outside: a commit changes what is served, and nothing else does."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.patience import wait_for
from tests.support.served import LIST, PAGE, Served, environment, git, make_project
from tests.support.served_sample import repository, served

__all__ = ["repository", "served"]


def test_a_commit_is_live_and_answers_name_it(served: Served) -> None:
    headers = served.sign_up()
    for number in range(10):
        served.edit(LIST, PAGE, f"{PAGE}\n        field{number}: {number}")
        commit = served.commit(f"Add field {number}")
        assert served.live()["release"] == commit[:12]
        reply = served.api.get("/api/v1/notes", headers=headers)
        assert reply.headers["x-release"] == commit[:12]
        assert reply.json()[f"field{number}"] == number
    status = served.status()
    assert status["attempted_revision"] == status["applied_revision"] == f"main@sha1:{commit}"
    assert [one["outcome"] for one in status["publications"]] == ["live"] * 10


@pytest.mark.long
def test_no_request_fails_while_commits_go_live(served: Served) -> None:
    headers, done = served.sign_up(), threading.Event()
    seen: list[tuple[int, str]] = []

    def ask() -> None:
        while not done.is_set():
            reply = served.api.get("/api/me", headers=headers)
            seen.append((reply.status_code, reply.headers["x-release"]))

    asking = threading.Thread(target=ask)
    asking.start()
    for number in range(5):
        served.edit(LIST, PAGE, f"{PAGE}\n        field{number}: {number}")
        served.commit()
        release = served.live()["release"]
        wait_for(lambda name=release: name in {one for _, one in seen[-20:]})
    done.set()
    asking.join()
    assert {status for status, _ in seen} == {200}


def test_a_mistake_keeps_the_last_good_release_and_says_where_it_is(served: Served) -> None:
    good = served.status()["applied_revision"]
    served.edit(LIST, "vars.notes", "vars.nots")
    served.edit("tables/notes.yaml", "type: text", "type: txt")
    bad = served.commit()
    stalled = served.stalled()
    assert stalled["reason"] == "ProjectInvalid"
    places = [(one["file"], one["line"], one["hint"]) for one in stalled["diagnostics"]]
    assert places == [
        ("functions/notes/list.yaml", 20, "did you mean 'notes'?"),
        ("tables/notes.yaml", 7, "did you mean 'text'?"),
    ]
    status = served.status()
    assert (status["attempted_revision"], status["applied_revision"]) == (f"main@sha1:{bad}", good)
    assert served.condition("Stalled")["status"] is True
    assert served.condition("Ready")["status"] is False
    assert served.api.get("/api/me").headers["x-release"] == good.partition(":")[2][:12]


@pytest.mark.long
def test_a_refused_publication_has_the_title_of_its_commit(served: Served) -> None:
    served.edit(LIST, "vars.notes", "vars.nots")
    bad = served.commit("Rename the notes")
    served.stalled()
    tried = served.status()["publications"][-1]
    assert (tried["outcome"], tried["subject"]) == ("ProjectInvalid", "Rename the notes")
    assert tried["author"]
    told = served.bbops("status").stdout
    assert f"sample: Rename the notes (main@sha1:{bad})\n" in told
    page = served.control.get("/", headers={"accept": "text/plain"}).text
    assert f"tried    main@sha1:{bad}  Rename the notes\n" in page


@pytest.mark.long
def test_a_failing_commit_never_blocks_the_fix(served: Served) -> None:
    served.edit(LIST, "vars.notes }", "vars.notes[")
    served.commit()
    served.stalled()
    git(served.repository, "revert", "--no-edit", "HEAD")
    assert served.live()["release"] == git(served.repository, "rev-parse", "HEAD")[:12]
    assert served.condition("Stalled")["status"] is False


@pytest.mark.long
def test_of_many_commits_the_newest_wins(served: Served) -> None:
    for number in range(8):
        served.edit(LIST, PAGE, f"{PAGE}\n        field{number}: {number}")
        newest = served.commit()
    wait_for(lambda: served.status()["applied_revision"] == f"main@sha1:{newest}")


@pytest.mark.long
def test_tables_grow_with_the_code_that_needs_them(served: Served) -> None:
    headers = served.sign_up()
    served.api.post("/api/v1/notes", json={"title": "Old"}, headers=headers)
    served.edit("tables/notes.yaml", "  done:", "  colour: { type: string, default: red }\n  done:")
    served.edit(LIST, "select: [id, title, done, created_at]", "select: [title, colour]")
    (served.repository / "tables/tags.yaml").write_text(
        "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
    )
    served.commit()
    assert served.live()["changes"] == ["create table 'tags'", "add column 'notes.colour'"]
    notes = served.api.get("/api/v1/notes", headers=headers).json()["notes"]
    assert notes == [{"title": "Old", "colour": "red"}]


@pytest.mark.long
def test_a_change_that_would_lose_rows_is_refused_and_loses_none(served: Served) -> None:
    headers = served.sign_up()
    served.api.post("/api/v1/notes", json={"title": "Kept"}, headers=headers)
    text = (served.repository / "tables/notes.yaml").read_text()
    (served.repository / "tables/notes.yaml").write_text(
        "\n".join(line for line in text.splitlines() if "body:" not in line)
    )
    shutil.rmtree(served.repository / "endpoints/notes")
    shutil.rmtree(served.repository / "functions/notes")
    shutil.rmtree(served.repository / "tests/notes")
    served.commit()
    stalled = served.stalled()
    assert stalled["reason"] == "MigrationRefused", stalled
    assert "drop column 'notes.body'" in stalled["message"]
    assert served.api.get("/api/v1/notes", headers=headers).json()["notes"][0]["title"] == "Kept"


@pytest.mark.long
def test_a_repository_that_vanishes_changes_nothing_and_may_come_back(
    repository: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with Served(repository, tmp_path / "home", "--state", str(state)) as served:
        served.live()
        repository.rename(tmp_path / "elsewhere")
        assert served.stalled()["reason"] == "RepositoryGone"
        assert served.api.get("/api/me").status_code == 401
        (tmp_path / "elsewhere").rename(repository)
        served.edit(LIST, PAGE, f"{PAGE}\n        back: true")
        commit = served.commit()
        wait_for(lambda: served.status()["applied_revision"] == f"main@sha1:{commit}")


@pytest.mark.long
def test_links_submodules_and_huge_files_are_diagnostics(served: Served) -> None:
    (served.repository / "functions/link.yaml").symlink_to("/etc/passwd")
    (served.repository / "functions/huge.yaml").write_text("a: " + "b" * (1 << 20))
    (served.repository / "functions/binary.yaml").write_bytes(b"\xff\xfe\x00\x01")
    (served.repository / "functions/bomb.yaml").write_text(
        "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\n"
    )
    (served.repository / "functions/deep.yaml").write_text("a: " + "[" * 5000)
    (served.repository / "functions/sub").mkdir()
    git(served.repository / "functions/sub", "init", "-q")
    git(served.repository / "functions/sub", "commit", "-q", "--allow-empty", "-m", "Start")
    served.commit()
    found = {(one["file"], one["code"]) for one in served.stalled()["diagnostics"]}
    assert {
        ("functions/link.yaml", "not-a-file"),
        ("functions/huge.yaml", "yaml-too-large"),
        ("functions/binary.yaml", "yaml-encoding"),
        ("functions/bomb.yaml", "yaml-anchor"),
        ("functions/deep.yaml", "yaml-too-deep"),
        ("functions/sub", "not-a-file"),
    } <= found
    assert served.api.get("/api/me").status_code == 401


@pytest.mark.long
def test_a_restart_serves_the_last_good_release_before_anything_else(
    repository: Path, tmp_path: Path
) -> None:
    with Served(repository, tmp_path / "home") as served:
        good = served.live()["release"]
        headers = served.sign_up()
        served.edit(LIST, "vars.notes", "vars.nots")
        served.commit()
        served.stalled()
        assert served.stop() == 0
    with Served(repository, tmp_path / "home") as served:
        served.stalled()
        reply = served.api.get("/api/me", headers=headers)
        assert (reply.status_code, reply.headers["x-release"]) == (200, good)


@pytest.mark.long
def test_ctrl_c_ends_the_server_with_exit_code_0(served: Served) -> None:
    assert served.stop(signal.SIGINT) == 0


@pytest.mark.long
def test_a_missing_env_value_stalls_until_it_is_set(served: Served) -> None:
    served.edit("project.yaml", "auth:", "  MAIL_KEY: { secret: true }\n\nauth:")
    served.commit()
    stalled = served.stalled()
    assert stalled["reason"] == "EnvMissing"
    assert "bbops env set MAIL_KEY" in stalled["hint"]
    subprocess.run(
        [sys.executable, "-m", "bbops", "env", "set", "MAIL_KEY"], input="hunter2\n", text=True,
        cwd=served.repository, env=environment(served.home), check=True,
    )  # fmt: skip
    served.live()
    stored = (served.repository / ".bbops/state/env.json").read_text()
    assert "MAIL_KEY" in stored
    assert "hunter2" not in stored


@pytest.mark.long
def test_a_key_that_cannot_sign_stalls_with_its_name(served: Served) -> None:
    served.edit("project.yaml", "${ env.JWT_SECRET }", "${ env.SHORT }")
    served.edit("project.yaml", "auth:", "  SHORT: { default: tiny }\n\nauth:")
    served.commit()
    stalled = served.stalled()
    assert "SHORT" in stalled["message"]
    assert "tiny" not in stalled["message"]


@pytest.mark.long
def test_one_state_folder_has_one_server(served: Served, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bbops", "serve", str(served.repository), "--port", "0"],
        env=environment(served.home), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "another server is using the state folder" in done.stderr
    assert "--state" in done.stderr


@pytest.mark.long
def test_a_taken_port_is_said_with_the_cure(served: Served, tmp_path: Path) -> None:
    port = served.api.base_url.port
    done = subprocess.run(
        [sys.executable, "-m", "bbops", "serve", str(served.repository), "--port", str(port),
         "--state", str(tmp_path / "other")],
        env=environment(served.home), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert str(port) in done.stderr
    assert "--port" in done.stderr


@pytest.mark.long
def test_a_folder_that_is_no_repository_is_said_with_the_cure(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bbops", "serve", str(tmp_path)],
        env=environment(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "is not a git repository" in done.stderr


@pytest.mark.long
def test_a_branch_without_commits_waits_for_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    with Served(folder, tmp_path / "home") as served:
        assert served.stalled()["reason"] == "BranchNotFound"
        assert served.api.get("/api/me").status_code == 503
        template = make_project(tmp_path / "template")
        shutil.copytree(template, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
        assert served.commit()[:12] == served.live()["release"]


@pytest.mark.long
def test_a_bare_repository_and_a_folder_of_a_monorepo_are_served(tmp_path: Path) -> None:
    mono = tmp_path / "mono"
    make_project(mono / "apps/notes")
    shutil.rmtree(mono / "apps/notes/.git")
    git(mono, "init", "-q", "-b", "main")
    git(mono, "add", "-A")
    git(mono, "commit", "-qm", "Start")
    bare = tmp_path / "mono.git"
    git(tmp_path, "clone", "-q", "--bare", str(mono), str(bare))
    with Served(bare, tmp_path / "home", "--path", "apps/notes") as served:
        served.live()
        served.sign_up()
        (mono / "apps/notes/README.md").write_text("changed")
        git(mono, "commit", "-qam", "Change")
        git(mono, "push", "-q", str(bare), "main")
        served.live()


@pytest.mark.long
def test_commits_without_a_pause_do_not_starve_the_publication(served: Served) -> None:
    first, over = served.status()["release"], threading.Event()

    def push() -> None:
        while not over.is_set():
            (served.repository / "README.md").write_text(str(time.monotonic()))
            served.commit()

    pushing = threading.Thread(target=push)
    pushing.start()
    wait_for(lambda: served.status()["release"] != first)
    over.set()
    pushing.join()
    newest = git(served.repository, "rev-parse", "HEAD")
    wait_for(lambda: served.status()["release"] == newest[:12])
