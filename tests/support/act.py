"""Workflows run by act, without containers and without a forge."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.support.served import git

ACTIONS = "example/bbops"
"""The repository of the actions, as workflows name it."""
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SECONDS = 240


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """A finished workflow; its log has annotations and summaries, without colours and job names."""

    is_successful: bool
    log: str


def copy_actions(folder: Path) -> Path:
    """Copy this repository as a forge serves it to a workflow: its files, without history."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, names):
        source, target = ROOT / name, folder / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    return folder


def run_workflow(
    project: Path, event: str, body: Mapping[str, Any], *, home: Path, actions: Path | None = None,
    variables: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None,
    job: str = "",
) -> WorkflowRun:  # fmt: skip
    """Run the workflows of a project for an event.

    Args:
        project: a clean work tree.
        event: such as `pull_request`.
        body: the payload of the event.
        home: an empty folder for caches and programs.
        actions: the copy of this repository that workflows use as `example/bbops`.
        variables: the variables of the forge.
        env: the environment of the steps.
        job: the only job to run; empty for all.
    """
    home.mkdir(parents=True, exist_ok=True)
    payload = home / "event.json"
    payload.write_text(json.dumps(body))
    command = [
        str(Path(sys.executable).with_name("act")), event, "--platform",
        "ubuntu-latest=-self-hosted", "--eventpath", str(payload), "--directory", str(project),
    ]  # fmt: skip
    if actions is not None:
        command += ["--local-repository", f"{ACTIONS}@{COMMIT}={actions}"]
    for option, pairs in (("--var", variables), ("--env", env)):
        for name, value in (pairs or {}).items():
            command += [option, f"{name}={value}"]
    command += ["--job", job] if job else []
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
    )  # fmt: skip
    lines = [_LINE.sub("", _COLOR.sub("", line)) for line in done.stdout.splitlines()]
    return WorkflowRun(done.returncode == 0, "\n".join(lines) + done.stderr)


_COLOR = re.compile("\x1b\\[[0-9;]*m")
_LINE = re.compile(r"^\[[^\]]*\]\s*(\| ?)?")


def open_pull_request(project: Path, branch: str) -> dict[str, Any]:
    """Check out the merge of a branch into main, as a forge does; return the event's payload."""
    head, base = git(project, "rev-parse", branch), git(project, "rev-parse", "main")
    git(project, "switch", "-q", "--detach", "main")
    git(project, "merge", "-q", "--no-ff", "-m", f"Merge {head} into {base}", branch)
    repository = {"full_name": "example/shop", "fork": False, "default_branch": "main"}
    return {
        "action": "opened", "number": 1, "repository": repository,
        "pull_request": {
            "number": 1,
            "head": {"ref": branch, "sha": head, "repo": repository},
            "base": {"ref": "main", "sha": base, "repo": repository},
        },
    }  # fmt: skip
