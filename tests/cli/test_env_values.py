"""Values of env variables on the command line: what cannot be read is refused, never printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bbops_server.process.host.secrets import Secrets
from tests.support.served import environment, make_project

PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----"


def run(folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "bbops", "env", "set", *words], input=given, text=True,
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
    assert run(folder, "KEY", given=PEM + "\n").stdout == "KEY is set\n"
    assert run(folder, "OTHER", "--", "-5").stdout == "OTHER is set\n"
    kept = Secrets.open(folder / ".bbops/state")
    assert (kept.get("KEY"), kept.get("OTHER")) == (PEM, "-5")
