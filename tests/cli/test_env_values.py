"""Values of env variables on the command line: what cannot be read is refused, never printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from bbops.source.git import store
from bbops_server.control_plane.sign_in.local import write_local_key
from bbops_server.process.host.secrets import Secrets
from bbops_server.publish.sources.record import LiveRecord
from tests.support.served import environment, git, make_project

URL = "http://127.0.0.1:8001"
LATIN = "iconv -f ISO-8859-1 -t UTF-8"
UTF_16 = "iconv -f UTF-16 -t UTF-8"
MARK = "tail -c +4"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----"


def run(folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return env(folder, "set", *words, given=given)


def env(folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run `bbops env` in a folder, without a user's own settings."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "bbops", "env", *words], input=given, text=True,
        cwd=folder, env=environment(folder), capture_output=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("words", [
    (PEM,), ("-s3cret",), ("--s3cret=1",), ("my", "s3cret", "words"), PEM.split(),
    ("--json", "-----BEGIN",),
])  # fmt: skip
def test_a_value_that_looks_like_options_is_refused_and_not_printed(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = run(tmp_path, "KEY", *words)
    assert done.returncode == 2
    assert "read it from a file: bbops env set NAME < key.pem" in done.stderr
    for one in ("s3cret", "BEGIN", "MIIEvQ", "words"):
        assert one not in done.stdout + done.stderr


@pytest.mark.long
def test_such_a_value_is_taken_from_a_pipe_and_behind_two_dashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_project(tmp_path / "shop")
    monkeypatch.setenv("XDG_CONFIG_HOME", environment(folder)["XDG_CONFIG_HOME"])
    assert run(folder, "KEY", given=PEM + "\n").stdout.startswith("KEY is set ")
    assert run(folder, "OTHER", "--", "-5").stdout.startswith("OTHER is set ")
    kept = Secrets.open(folder / ".bbops/state")
    assert (kept.get("KEY"), kept.get("OTHER")) == (PEM, "-5")


def project(folder: Path) -> Path:
    """Make the smallest project, in a repository."""
    store.init(folder, {"project.yaml": b"bbops: 1\nname: shop\n"}, message="Start")
    return folder


def start(state: Path) -> Path:
    """Leave what a server that runs on a state folder writes there."""
    state.mkdir(parents=True)
    write_local_key(state, URL, URL)
    return state


def names(folder: Path, *words: str) -> list[str]:
    return env(folder, "list", *words).stdout.splitlines()


def test_a_value_is_set_where_bbops_dev_reads_it(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop")
    dev = start(folder / ".bbops/dev")
    assert run(folder, "KEY", "x").stdout == f"KEY is set for 'bbops dev', in {dev}\n"
    assert names(folder, "--state", ".bbops/dev") == ["KEY"]
    assert not (folder / ".bbops/state").exists()


def test_a_value_is_set_on_the_server_that_runs_around_the_folder(tmp_path: Path) -> None:
    state = start(tmp_path / ".bbops/state")
    folder = project(tmp_path / "clone")
    assert run(folder, "KEY", "x").stdout == f"KEY is set for 'bbops serve', in {state}\n"
    assert (names(folder), (folder / ".bbops").exists()) == (["KEY"], False)


def test_the_values_of_a_stopped_bbops_dev_are_found_too(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop")
    (folder / ".bbops/dev").mkdir(parents=True)
    told = "KEY is set for 'bbops dev'; for 'bbops serve', add --state .bbops/state\n"
    assert run(folder, "KEY", "x").stdout == told


def test_a_value_of_drafts_is_never_set_in_bbops_dev(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop")
    start(folder / ".bbops/dev")
    assert "for 'bbops serve'" in run(folder, "KEY", "x", "--drafts").stdout
    assert names(folder, "--drafts", "--state", ".bbops/state") == ["KEY"]


@pytest.mark.parametrize("words", [("set", "KEY", "x"), ("list",), ("unset", "KEY")])
def test_a_clone_without_a_server_names_the_option_for_one(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    project(tmp_path / "origin")
    git(tmp_path, "clone", "-q", "origin", "clone")
    done = env(tmp_path / "clone", *words)
    assert done.returncode == 2
    assert done.stderr == (
        "error: this folder is a clone, and no server keeps its state here\n"
        "    hint: on the server's machine, add --state DIR with its state folder;"
        " for a server that will start here, add --state .bbops/state\n"
    )
    assert not (tmp_path / "clone/.bbops").exists()


def test_the_hint_of_a_clone_works(tmp_path: Path) -> None:
    project(tmp_path / "origin")
    git(tmp_path, "clone", "-q", "origin", "clone")
    assert run(tmp_path / "clone", "KEY", "x", "--state", ".bbops/state").returncode == 0
    assert names(tmp_path / "clone") == ["KEY"]


def test_a_new_project_keeps_values_for_its_first_server(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop")
    assert run(folder, "KEY", "x").stdout == "KEY is set for 'bbops serve' in this folder\n"
    assert (folder / ".bbops/.gitignore").read_text() == "*\n"


def publish(state: Path, *declared: str) -> None:
    """Leave the record of a live release that declares some variables."""
    state.mkdir(parents=True, exist_ok=True)
    env = {name: {"secret": True} for name in declared}
    live = LiveRecord(revision="git:main:1111", digest="1", artifact="1", env=env)
    (state / "publication.json").write_bytes(msgspec.json.encode(live))


UNDECLARED = "project.yaml of the live release does not declare 'GREETNG'"


@pytest.mark.parametrize(
    ("declared", "more"),
    [(("GREETING", "KEY"), " (did you mean 'GREETING'?)"), (("KEY",), ""), ((), "")],
)
@pytest.mark.parametrize("words", [(), ("--drafts",)])
def test_undeclared_variable_is_kept_with_a_warning(
    tmp_path: Path, declared: tuple[str, ...], more: str, words: tuple[str, ...]
) -> None:
    folder = project(tmp_path / "shop")
    publish(folder / ".bbops/state", *declared)
    done = run(folder, "GREETNG", "x", *words)
    warning = f"{UNDECLARED}{more}"
    assert (done.returncode, done.stderr) == (0, f"warning: {warning}; it is kept\n")
    assert names(folder, *words) == ["GREETNG"]
    assert json.loads(run(folder, "GREETNG", "x", "--json").stdout)["warnings"] == [warning]


def test_variable_of_the_project_in_the_folder_has_no_warning(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop")
    publish(folder / ".bbops/state", "KEY")
    (folder / "project.yaml").write_text("bbops: 1\nname: shop\nenv: { GREETNG: {} }\n")
    assert run(folder, "GREETNG", "x").stderr == ""


def test_undeclared_variable_of_a_named_project_has_a_warning(tmp_path: Path) -> None:
    state = tmp_path / ".bbops/state"
    publish(state / "projects/shop", "GREETING")
    publish(state / "projects/desk", "GREETNG")
    assert UNDECLARED in run(tmp_path, "GREETNG", "x", "--project", "shop").stderr
    assert run(tmp_path, "GREETNG", "x", "--project", "desk").stderr == ""


def test_variable_of_the_server_has_no_warning(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop")
    publish(folder / ".bbops/state", "KEY")
    assert run(folder, "GREETNG", "x", "--of-server").stderr == ""


def test_a_removed_value_is_gone(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop")
    run(folder, "KEY", "x")
    assert env(folder, "unset", "KEY").stdout.startswith("KEY is removed ")
    assert names(folder) == ["no values yet; set one with 'bbops env set NAME'"]
    missing = env(folder, "unset", "KEY")
    assert (missing.returncode, missing.stderr.splitlines()[0]) == (
        2, "error: 'KEY' has no stored value in '.bbops/state'",
    )  # fmt: skip


def pipe(folder: Path, data: bytes, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "bbops", "env", "set", "KEY", *words], input=data,
        cwd=folder, env=environment(folder), capture_output=True, check=False,
    )  # fmt: skip


def stored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    monkeypatch.setenv("XDG_CONFIG_HOME", environment(folder)["XDG_CONFIG_HOME"])
    return Secrets.open(folder / ".bbops/state").get("KEY")


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b"s3cret", "s3cret"),
        (b"s3cret\n", "s3cret"),
        (b"s3cret\r\n", "s3cret"),
        (b"one\r\ntwo\r\n", "one\r\ntwo"),
        ("grüße\n".encode(), "grüße"),
    ],
)
def test_final_line_break_of_a_pipe_is_removed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, kept: str
) -> None:
    folder = project(tmp_path / "shop")
    done = pipe(folder, data)
    assert (done.returncode, done.stderr) == (0, b"")
    assert stored(folder, monkeypatch) == kept


@pytest.mark.parametrize(
    ("data", "warning"),
    [
        (b"s3cret\r", "character 7 of 7 is a carriage return"),
        (b"s3cret\n\n", "character 7 of 7 is a line feed"),
        (b" s3cret", "character 1 of 7 is a space"),
        ("s3\u00a0cret".encode(), "character 3 of 7 is U+00A0 (NO-BREAK SPACE)"),
        ("s3cret\u200b".encode(), "character 7 of 7 is U+200B (ZERO WIDTH SPACE)"),
        (b"", "the value is empty"),
    ],
)
def test_invisible_characters_are_kept_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, warning: str
) -> None:
    folder = project(tmp_path / "shop")
    done = pipe(folder, data)
    assert (done.returncode, done.stderr.decode()) == (0, f"warning: {warning}; it is kept\n")
    assert stored(folder, monkeypatch) == data.decode().removesuffix("\n")
    assert json.loads(pipe(folder, data, "--json").stdout)["warnings"] == [warning]


@pytest.mark.parametrize(
    ("data", "message", "fix"),
    [
        ("s3crét".encode("latin-1"), "not UTF-8: byte 5 of 6 does not belong there", LATIN),
        ("\ufeffs3cret".encode(), "the value begins with a byte order mark (U+FEFF)", MARK),
        ("\ufeffs3cret\r\n".encode("utf-16-le"), "the value is UTF-16, expected UTF-8", UTF_16),
        ("s3cret".encode("utf-16-le"), "contains a NUL character, as UTF-16 does", UTF_16),
    ],
)
def test_a_value_in_another_encoding_is_rejected_without_being_printed(
    tmp_path: Path, data: bytes, message: str, fix: str
) -> None:
    folder = project(tmp_path / "shop")
    done = pipe(folder, data)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert f": {fix} FILE\n" in done.stderr.decode()
    assert b"s3" not in done.stderr
    assert names(folder) == ["no values yet; set one with 'bbops env set NAME'"]


def test_an_argument_that_is_not_utf_8_is_rejected(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop")
    command = [sys.executable, "-P", "-m", "bbops", "env", "set", "KEY", b"s3cr\xe9t"]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, b"error: the value is not UTF-8")
