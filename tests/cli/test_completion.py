"""`bbops completion`: the script of each shell, and the line that is added to its own file once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import bbops, environment

FILES = {
    "bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/completions/bbops.fish",
}  # fmt: skip


def at_home(home: Path) -> dict[str, str]:
    found = {**environment(), "HOME": str(home)}
    return {key: one for key, one in found.items() if key not in {"ZDOTDIR", "XDG_CONFIG_HOME"}}


@pytest.mark.parametrize("shell", FILES)
def test_the_script_of_a_shell_asks_bbops(shell: str) -> None:
    done = bbops("completion", shell)
    assert done.returncode == 0, done.stderr
    assert f"_BBOPS_COMPLETE={shell}_complete" in done.stdout


def test_bash_completes_a_command(tmp_path: Path) -> None:
    script = bbops("completion", "bash").stdout
    own = tmp_path / "bbops"
    own.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m bbops "$@"\n')
    own.chmod(0o755)
    asked = (
        f"{script}\nCOMP_WORDS=(bbops keys is) COMP_CWORD=2\n"
        f"_bbops_completion '{own}'\necho \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", asked], capture_output=True, text=True, check=False,
        env=environment(),
    )  # fmt: skip
    assert done.stdout == "issue\n", done.stderr


@pytest.mark.parametrize(("shell", "file"), FILES.items())
def test_install_adds_one_line_and_keeps_what_is_there(
    tmp_path: Path, shell: str, file: str
) -> None:
    target = tmp_path / file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("# mine, does not expire")
    first = bbops("completion", shell, "--install", env=at_home(tmp_path))
    assert first.stdout == f"added completion to '{target}'; open a new terminal to use it\n"
    mine, added, *more = target.read_text().splitlines()
    assert (mine, more) == ("# mine, does not expire", [])
    assert f"bbops completion {shell}" in added
    second = bbops("completion", shell, "--install", env=at_home(tmp_path))
    assert second.stdout == f"completion is already in '{target}'\n"
    assert len(target.read_text().splitlines()) == 2


def test_install_makes_a_file_that_is_missing(tmp_path: Path) -> None:
    assert bbops("completion", "fish", "--install", env=at_home(tmp_path)).returncode == 0
    assert (tmp_path / FILES["fish"]).read_text().endswith("bbops completion fish | source\n")


def test_another_shell_is_refused_with_those_that_are_known() -> None:
    done = bbops("completion", "csh")
    assert done.returncode == 2
    assert "'bash', 'zsh', 'fish'" in done.stderr
