"""`bbops doctor` says what a machine lacks, and how to get it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from bbops.source.git.store import require_git
from bbops_server.commands import doctor


def look(*arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Return the exit status, and what was found, by name."""
    found = CliRunner().invoke(doctor.command, [*arguments, "--json"], standalone_mode=False)
    assert found.exception is None, found.exception
    return found.return_value, {one["name"]: one for one in json.loads(found.output)}


def test_a_machine_that_runs_these_tests_can_run_a_server(tmp_path: Path) -> None:
    status, found = look(str(tmp_path / "not" / "there"))
    assert status == 0
    assert {name: one["state"] for name, one in found.items() if name in {"Python", "git"}} == {
        "Python": "ok", "git": "ok",
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_what_every_server_needs_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    require_git.cache_clear()
    try:
        status, found = look(os.devnull + "/state")
    finally:
        require_git.cache_clear()
    assert status == 1
    assert found["git"]["state"] == "error"
    assert "install" in found["git"]["hint"]
    assert any(one["state"] == "error" for name, one in found.items() if name.startswith("disk"))


def test_the_browser_is_the_one_that_the_settings_name(tmp_path: Path) -> None:
    program, file = tmp_path / "browser", tmp_path / "server.yaml"
    file.write_text(f"chromium: {{ program: {program}, sandbox: false }}\n")
    status, found = look(str(tmp_path), "--settings", str(file))
    assert (status, found["Chromium"]["state"]) == (0, "optional")
    program.write_text("")
    program.chmod(0o700)
    _, found = look(str(tmp_path), "--settings", str(file))
    assert found["Chromium"]["state"] == "warning"
    assert "without its sandbox" in found["Chromium"]["said"]
