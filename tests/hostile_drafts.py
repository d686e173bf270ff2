"""Drafts that try to do harm, and a server that previews them."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.served import Served, git, wait_for
from tests.small_project import endpoint, write_project

NAME = "small"
_TEN = "replace('x,', 'x,x,x,x,x,x,x,x,x,x,')"
COMPUTES = f"""steps:
  - set: {{ text: "${{ 'x,' | {_TEN} | {_TEN} | {_TEN} | {_TEN} }}" }}
  - set: {{ list: "${{ vars.text | split(',') }}" }}
  - loop:
      over: vars.list
      each: one
      steps:
        - loop:
            over: vars.list
            each: two
            steps:
              - set: {{ found: "${{ vars.text | matches('(x+y?x+,)+z$') }}" }}
"""
"""Steps that compute until somebody ends them."""


def make(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Make the small project in a repository."""
    write_project(folder, files)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    return folder


def function(steps: str, *, method: str = "GET", name: str = "bad") -> dict[str, str]:
    """Return the files of a public route `/NAME` with these steps."""
    return {
        f"functions/{name}.yaml": steps,
        f"endpoints/{name}.yaml": endpoint(method, f"/{name}", name),
    }


def push(served: Served, branch: str, files: dict[str, str]) -> str:
    """Commit files to a new branch, and go back to main; return the commit."""
    git(served.repository, "switch", "-qc", branch)
    try:
        for name, text in files.items():
            path = served.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return served.commit(f"Be {branch}")
    finally:
        git(served.repository, "switch", "-q", "main")


def enter(served: Served, branch: str, project: str = NAME, **more: object) -> httpx.Client:
    """Return a client that is let into the draft of a branch, once there is one."""
    drafts = f"/api/projects/{project}/drafts"
    (slug,) = wait_for(
        lambda: [
            one["slug"] for one in served.control.get(drafts).json() if one["branch"] == branch
        ]
    )
    made = served.control.post(f"{drafts}/{slug}/token", json={}).json()
    return httpx.Client(
        base_url=made["url"], headers={"x-draft-token": made["token"]}, timeout=60, **more
    )  # type: ignore[arg-type]
