"""CPU time of the dashboard's pages with 1,000 endpoints: `python -m tests.bench.pages`.

The control plane runs in this process, so the figures are its own time for each page.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final

from bbops_server.accounts.rules import Role
from tests.support.control import Tried

ENDPOINTS: Final = 1_000
ROUNDS: Final = 40
PAGES: Final = (
    "", "/endpoints", "/endpoints?q=r99", "/endpoints/r7", "/endpoints/r7?tab=function",
    "/functions", "/functions/r7", "/tables", "/tables/notes", "/channels/v1", "/values",
    "/addons", "/requests", "/jobs", "/webhooks", "/events", "/realtime", "/agents", "/drafts",
    "/versions", "/frontend",
)  # fmt: skip
FUNCTION: Final = """
description: Lists notes.
query: { word?: string }
steps:
  - find: { table: notes, where: title == query.word or query.word == null, limit: 20 }
    as: notes
  - if: vars.notes == []
    then:
      - return: { status: 404, value: { error: none } }
  - set: { count: "${ vars.notes | length }" }
  - return: { value: { notes: "${ vars.notes }", count: "${ vars.count }" } }
"""
NOTES: Final = (
    "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
    "  title: { type: string }\n"
)


def create_files() -> dict[str, str]:
    """Return the files of a project of 1,000 endpoints."""
    files = {
        "project.yaml": "bbops: 1\nname: small\n", "tables/notes.yaml": NOTES,
        "channels/v1.yaml": "name: V1\nbasePath: /v1\nauthentication: None\n",
    }  # fmt: skip
    for number in range(ENDPOINTS):
        files[f"functions/r{number}.yaml"] = FUNCTION
        files[f"endpoints/r{number}.yaml"] = (
            f"channel: v1\nmethod: GET\npath: /r{number}\nfunction: r{number}\n"
            f"description: Lists the notes of room {number}.\n"
        )
    return files


def measure(tried: Tried, path: str) -> list[float]:
    """Return the milliseconds of CPU of each request for a page, without the first one."""
    browser, times = tried.as_person("ada@example.com"), list[float]()
    for _ in range(ROUNDS + 1):
        began = process_time()
        answer = browser.get(f"/projects/small{path}")
        times.append(1_000 * (process_time() - began))
        assert answer.status_code == 200, answer.text
    return times[1:]


def main() -> None:
    """Measure each page, and print its median and its 95th percentile."""
    with TemporaryDirectory() as folder:
        tried = Tried(Path(folder))
        tried.add("ada@example.com", Role.OWNER)
        tried.source.files = create_files()
        print(f"{'page':<32} {'median ms':>10} {'p95 ms':>8}")
        for path in PAGES:
            times = measure(tried, path)
            print(f"{path or '/':<32} {median(times):>10.1f} {quantiles(times, n=20)[-1]:>8.1f}")
        tried.close()


if __name__ == "__main__":
    main()
