"""Drafts that try to do harm, and a server that previews them."""

from __future__ import annotations

import random
import re
import textwrap
from pathlib import Path

import httpx

from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.served import Served, git
from tests.support.small_project import endpoint, write_project

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
        base_url=made["url"],
        headers={"x-draft-token": made["token"]},
        timeout=PATIENCE_SECONDS,
        **more,
    )  # type: ignore[arg-type]


# ---- drafts made of hostile steps, by a seed
_NAMES = re.compile(r"\b(text|list|one|two|found)\b")
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


def generate(seed: int) -> str:
    """Return the steps of a function that does harm in one to three ways, one by one or at once."""
    chance = random.Random(seed)
    ways = [chance.choice(WAYS)(chance) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.5:
        return "steps:\n" + "".join(ways) + "  - return: { value: done }\n"
    branches = "".join(
        f"      branch{at}:\n" + textwrap.indent(_NAMES.sub(rf"\g<1>{at}", way), "      ")
        for at, way in enumerate(ways)
    )
    return f"steps:\n  - parallel:\n{branches}  - return: {{ value: done }}\n"


def _statement(text: str, mode: str = "read") -> str:
    return f"  - sql:\n      mode: {mode}\n      statement: {text!r}\n"


def _count(chance: random.Random) -> str:
    return _statement(
        f"{ENDLESS} SELECT count(*) FROM c WHERE x < {chance.choice([10**7, 10**12])}"
    )


def _allocate(chance: random.Random) -> str:
    size = chance.choice([1, 40, 400, 900]) * 1_000_000
    make = chance.choice(["zeroblob", "randomblob"])
    return _statement(chance.choice([f"SELECT hex({make}({size}))", f"SELECT {make}({size})"]))


def _collect(chance: random.Random) -> str:
    rows = chance.choice([10**5, 10**6, 10**8])
    return _statement(
        f"{ENDLESS} SELECT group_concat(hex(randomblob(900))) FROM (SELECT x FROM c LIMIT {rows})"
    )


def _return_rows(chance: random.Random) -> str:
    return _statement(f"{ENDLESS} SELECT x, hex(zeroblob({chance.choice([10, 10_000])})) FROM c")


def _sort(chance: random.Random) -> str:
    inner = f"SELECT randomblob(500) AS r FROM c LIMIT {chance.choice([10**5, 10**7])}"
    return _statement(f"{ENDLESS} SELECT r FROM ({inner}) ORDER BY r LIMIT 1")


def _like(chance: random.Random) -> str:
    long, short = chance.choice([10**5, 10**6]), chance.choice([100, 20_000])
    return _statement(f"SELECT hex(zeroblob({long})) LIKE '%' || hex(zeroblob({short})) || '1%'")


def _write(chance: random.Random) -> str:
    rows, size = chance.choice([(3_000, 500_000), (10**7, 10), (200, 10_000_000)])
    return _statement(
        f"{ENDLESS} INSERT INTO notes (title) SELECT hex(randomblob({size})) FROM c LIMIT {rows}",
        "write",
    )


def _rewrite(chance: random.Random) -> str:
    size = chance.choice([1_000, 1_000_000])
    return _statement(f"UPDATE notes SET title = title || hex(randomblob({size}))", "write")


def _compute(chance: random.Random) -> str:
    pattern = chance.choice(["(x+y?x+,)+z$", "x,x,x,", "^(x,)*$"])
    return COMPUTES.removeprefix("steps:\n").replace("(x+y?x+,)+z$", pattern)


def _log(chance: random.Random) -> str:
    del chance
    loop = COMPUTES[: COMPUTES.index("        - loop:")].removeprefix("steps:\n")
    return loop + "        - log: { message: '${ vars.text }', data: { one: '${ vars.one }' } }\n"


WAYS = (
    _count, _allocate, _collect, _return_rows, _sort, _like, _write, _rewrite, _compute, _log,
)  # fmt: skip
