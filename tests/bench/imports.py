"""`python -m tests.bench.imports`: the CPU that addons from documents cost, as figures.

Vendors' own documents are read where they are beside the repository, in ../shared/vendor-apis; what
is missing is said. Large documents are made here.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from bbops.compiler.check import validate
from bbops.edit.authoring.changing import Change
from bbops.edit.importing.addon import import_addon
from bbops.edit.importing.sources import read_openapi
from bbops.source.tree import FolderTree
from tests.conftest import ROOT

DOCUMENTS = ROOT.parent / "shared/vendor-apis"
BOUND_SECONDS = 1.0
"""Of CPU, for import and check of one document."""

WANTED: dict[str, dict[str, str]] = {
    "stripe.json": {
        "pay": "POST /v1/payment_intents", "refund": "POST /v1/refunds",
        "customer": "POST /v1/customers", "subscribe": "POST /v1/subscriptions",
    },
    "github.json": {
        "issue": "POST /repos/{owner}/{repo}/issues", "issues": "GET /repos/{owner}/{repo}/issues",
    },
    "github_pr_full.json": {
        "pull": "GET /repos/{owner}/{repo}/pulls/{pull_number}",
        "pulls": "GET /repos/{owner}/{repo}/pulls",
    },
    "twilio.json": {"send": "CreateMessage"},
    "openai.json": {"chat": "createChatCompletion", "embed": "createEmbedding"},
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """What one document costs."""

    name: str
    size: int
    steps: int
    seconds: float

    def __str__(self) -> str:
        words = f"{self.steps} steps in {1000 * self.seconds:,.0f} ms of CPU"
        return f"{self.name:<22} {self.size / 1e6:6.2f} MB  {words}"


def measure(name: str, data: bytes, wanted: Mapping[str, str]) -> Figure:
    """Import a document into a new project, use each step, and check the project."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "functions").mkdir()
        (root / "project.yaml").write_text("bbops: 1\nname: a\n")
        calls = "".join(f"  - own.{step}: {{}}\n    as: {step}Found\n" for step in wanted)
        started = time.process_time()
        change = Change.open(root)
        import_addon(change, "own", read_openapi(data, name), wanted)
        change.folder.apply(change.files)
        (root / "functions/run.yaml").write_text(f"steps:\n{calls}")
        validate(FolderTree(root))
        return Figure(name, len(data), len(wanted), time.process_time() - started)


def large(megabytes: float) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a document of about that size, whose ten operations give all that a step may."""
    leaf = {f"field_{at}": {"type": "string", "description": "x" * 60} for at in range(40)}
    whole: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    count = max(10, int(megabytes * 1e6 / 90_000))
    for at in range(count):
        for part in range(20):
            whole[f"Part{at}x{part}"] = {"type": "object", "properties": leaf}
        inner = {f"part_{n}": {"$ref": f"#/components/schemas/Part{at}x{n}"} for n in range(20)}
        whole[f"Whole{at}"] = {"type": "object", "required": ["part_0"], "properties": inner}
        schema = {"$ref": f"#/components/schemas/Whole{at}"}
        content = {"application/json": {"schema": schema}}
        one = {"requestBody": {"content": content}, "responses": {"200": {"content": content}}}
        paths[f"/things/{at}"] = {"post": one}
    info = {"title": "large", "version": "1"}
    return {
        "openapi": "3.1.0", "info": info, "servers": [{"url": "https://api.example.com"}],
        "paths": paths, "components": {"schemas": whole},
    }, {f"s{at}": f"POST /things/{at}" for at in range(10)}  # fmt: skip


def figures() -> Iterator[Figure]:
    """Yield the figure of each document that is there."""
    for name, wanted in WANTED.items():
        if (DOCUMENTS / name).is_file():
            yield measure(name, (DOCUMENTS / name).read_bytes(), wanted)
    document, wanted = large(10)
    yield measure("large.json", json.dumps(document).encode(), wanted)
    document, wanted = large(0.85)
    written = yaml.dump(document, Dumper=_dumper(), sort_keys=False).encode()
    yield measure("large.yaml", written, wanted)


def _dumper() -> Any:
    found: Any = type("Plain", (getattr(yaml, "CSafeDumper", yaml.SafeDumper),), {})
    found.ignore_aliases = lambda *_: True
    return found


def missing() -> list[str]:
    """Return the documents that are not there."""
    return [name for name in WANTED if not (DOCUMENTS / name).is_file()]


if __name__ == "__main__":
    found = list(figures())
    print("\n".join(map(str, found)))
    for name in missing():
        print(f"not measured: {DOCUMENTS / name} is missing")
    slow = [one for one in found if one.seconds > BOUND_SECONDS]
    sys.exit(1 if slow else 0)
