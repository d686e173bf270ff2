"""Releases share the parts of equal functions; each calls the functions of its own release."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.compiler.testing.client import serve
from bbops.runtime.linking.lasting import Lasting
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, Files, run, sample

pytestmark = pytest.mark.quick
MESSAGES = 'errors: { messages: { required: "is missing" } }\n'


def project(number: int, settings: str = "") -> Files:
    """Return a project whose endpoint calls a function that gives a number."""
    files = sample(
        functions__inner=f"steps:\n  - return: {{ value: {number} }}\n",
        functions__outer="input: { name: string }\nsteps:\n  - call: { function: inner }\n    as: found\n"
        "  - return: { value: '${ vars.found }' }\n",
        endpoints__outer="method: POST\npath: /outer\nfunction: outer\nauthentication: None\n",
    )
    return files | {"project.yaml": files["project.yaml"] + settings}


def test_unchanged_functions_are_shared_and_call_their_own_release(tmp_path: Path) -> None:
    async def swap() -> None:
        lasting, database = Lasting(), tmp_path / "data.sqlite"
        trees = [MemoryTree(project(number)) for number in (1, 2)]
        async with serve(trees[1], database, ENV, lasting=lasting) as new:
            newer = lasting.functions
            async with serve(trees[0], database, ENV, lasting=lasting) as old:
                shared = newer.keys() & lasting.functions.keys()
                assert len(newer) - len(shared) == 1
                assert all(newer[packed] is lasting.functions[packed] for packed in shared)
                assert (await old.ask("POST", "/outer", {"name": "a"})).json == 1
                assert (await new.ask("POST", "/outer", {"name": "a"})).json == 2
            assert (await new.ask("POST", "/outer", {"name": "a"})).json == 2

    run(swap())


def test_functions_with_messages_of_the_project_are_not_shared(tmp_path: Path) -> None:
    async def swap() -> None:
        lasting, database = Lasting(), tmp_path / "data.sqlite"
        async with serve(MemoryTree(project(1)), database, ENV, lasting=lasting) as client:
            usual = (await client.ask("POST", "/outer", {})).json["error"]["fields"]
        tree = MemoryTree(project(1, MESSAGES))
        async with serve(tree, database, ENV, lasting=lasting) as client:
            own = (await client.ask("POST", "/outer", {})).json["error"]["fields"]
        assert lasting.functions == {}
        assert (usual["name"], own["name"]) == (["is required"], ["is missing"])

    run(swap())
