"""Projects with a frontend, committed."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.served import Served, git
from tests.support.small_project import FILES, write_project

PAGE = "<!doctype html><title>Shop</title><script type=module src=/assets/app-BwqKXYh3.js></script>"


SCRIPT = f"export const text = '{'again and ' * 400}'\n"


BUILT = {
    "frontend/dist/index.html": PAGE,
    "frontend/dist/assets/app-BwqKXYh3.js": SCRIPT,
    "frontend/dist/assets/plain.css": "body { color: teal }\n",
    "frontend/dist/docs/index.html": "<title>Docs</title>",
    "frontend/dist/odd name é.txt": "odd",
    "frontend/dist/packed.js": SCRIPT,
    "frontend/dist/.env": "no",
    "frontend/dist/.git-like/file.txt": "no",
    "frontend/dist/.well-known/security.txt": "yes",
    "frontend/secret-source.js": "no",
}


SECRET = 'correct-horse "battery" staple'


SETTINGS = FILES["project.yaml"] + "frontend: { spa: true }\n"


def make(folder: Path, files: dict[str, str]) -> Path:
    write_project(folder, {"project.yaml": SETTINGS} | files)
    if files:
        (folder / "frontend/dist/packed.js.gz").write_bytes(PACKED)
        (folder / "frontend/dist/packed.js.br").write_bytes(b"brotli")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    return folder


def commit(server: Served, files: dict[str, str]) -> None:
    write_project(server.repository, {"project.yaml": SETTINGS} | files)
    git(server.repository, "add", "-A")
    git(server.repository, "commit", "-qm", "Change")


PACKED = gzip.compress(SCRIPT.encode(), mtime=0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("frontend")
    with Served(
        make(folder / "small", BUILT), folder / "home", env={"SECRET": SECRET}
    ) as server:  # fmt: skip
        server.live()
        yield server
