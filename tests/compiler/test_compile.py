"""What is compiled again, what links anywhere, and where its failures point."""

from __future__ import annotations

import marshal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bbops.compiler.compile.release import Cache, build
from bbops.runtime.linking.release import link
from bbops.runtime.values.failures import FlowError
from bbops.source.tree import FolderTree, MemoryTree
from tests.conftest import FRAGMENTS, TEMPLATE, Files, Serving, with_function
from tests.support.raw_requests import Ask, talk
from tests.support.workbench import Bench


@pytest.fixture
def files() -> Files:
    tree = FolderTree(TEMPLATE)
    blobs = {entry.path: entry.blob for entry in tree.entries()}
    texts = tree.read(list(blobs.values()))
    return {path: texts[blob].decode() for path, blob in blobs.items()}


@pytest.fixture
def cache(files: Files) -> Cache:
    """Hold the compiled template."""
    found = Cache()
    build(MemoryTree(files), found)
    return found


def compiled(files: Files, cache: Cache) -> set[str]:
    """Return the functions that are compiled anew."""
    before = set(cache.code)
    built = build(MemoryTree(files), cache)
    assert {one.code for one in built.diagnostics} <= FRAGMENTS
    found = {marshal.loads(cache.code[key])["name"] for key in cache.code.keys() - before}
    assert len(found) == built.compiled
    return found


def change(files: Files, path: str, old: str, new: str) -> Files:
    assert old in files[path]
    return files | {path: files[path].replace(old, new)}


NOTES = {"notes/create", "notes/delete", "notes/get", "notes/list", "notes/update"}


def test_an_unchanged_project_compiles_nothing(files: Files, cache: Cache) -> None:
    assert compiled(files, cache) == set()


def test_the_same_project_gives_the_same_artifact(files: Files) -> None:
    assert build(MemoryTree(files)).artifact == build(MemoryTree(files)).artifact
    backwards = dict(sorted(files.items(), reverse=True))
    assert build(MemoryTree(backwards)).digest == build(MemoryTree(files)).digest


def test_a_changed_function_compiles_alone(files: Files, cache: Cache) -> None:
    changed = change(files, "functions/notes/get.yaml", "omit('user_id')", "omit('done')")
    assert compiled(changed, cache) == {"notes/get"}


def test_a_comment_compiles_its_function_again_since_lines_move(files: Files, cache: Cache) -> None:
    changed = files | {"functions/notes/get.yaml": "# first\n" + files["functions/notes/get.yaml"]}
    assert compiled(changed, cache) == {"notes/get"}


@pytest.mark.parametrize(
    ("old", "new"),
    [("type: string, maxLength: 120", "type: text"), ('default: ""', "default: none"),
     ("default: false", "default: true")],
)  # fmt: skip
def test_a_changed_column_compiles_what_reads_its_table(
    old: str, new: str, files: Files, cache: Cache
) -> None:
    assert compiled(change(files, "tables/notes.yaml", old, new), cache) == NOTES


def test_a_changed_endpoint_compiles_its_function(files: Files, cache: Cache) -> None:
    changed = change(files, "endpoints/auth/me.yaml", "GET", "POST")
    assert compiled(changed, cache) == {"auth/me"}


def test_a_changed_authentication_compiles_its_function(files: Files, cache: Cache) -> None:
    told = "authentication: JWT\nmethod:"
    changed = change(files, "endpoints/auth/login.yaml", "method:", told)
    assert compiled(changed, cache) == {"auth/login"}


def test_a_changed_middleware_compiles_everything_behind_it(files: Files, cache: Cache) -> None:
    more = files | {"functions/middleware/log.yaml": "steps:\n  - log: { message: asked }\n"}
    last = "- middleware/signed-in"
    changed = change(more, "channels/notes-v1.yaml", last, f"{last}\n  - middleware/log")
    behind = {*NOTES, "files/download", "files/upload"}
    assert compiled(changed, cache) == {*behind, "middleware/signed-in", "middleware/log"}


def test_a_changed_project_compiles_everything(files: Files, cache: Cache) -> None:
    assert len(compiled(change(files, "project.yaml", "24h", "12h"), cache)) == 11


def test_a_copied_function_is_another_one(files: Files, cache: Cache) -> None:
    copy = files | {"functions/auth/again.yaml": files["functions/auth/login.yaml"]}
    assert compiled(copy, cache) == {"auth/again"}
    functions = marshal.loads(build(MemoryTree(copy)).artifact)["functions"]
    assert "functions/auth/again.yaml" in [marshal.loads(one)["file"] for one in functions]


def test_a_changed_signature_compiles_its_callers(files: Files, cache: Cache) -> None:
    caller = "steps:\n  - call: { function: part, input: { a: 1 } }\n"
    part = "input: { a: integer }\nsteps:\n  - log: { message: hi }\n"
    more = files | {"functions/part.yaml": part, "functions/caller.yaml": caller}
    assert compiled(more, cache) == {"part", "caller"}
    assert compiled(change(more, "functions/part.yaml", "integer", "integer?"), cache) == {
        "part",
        "caller",
    }


def test_a_change_of_one_column_changes_the_artifact(files: Files) -> None:
    changed = change(files, "tables/notes.yaml", "default: false", "default: true")
    assert build(MemoryTree(changed)).digest != build(MemoryTree(files)).digest


# ---- the artifact


def atoms(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from (key, *atoms(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from atoms(item)
    else:
        yield value


def test_the_artifact_holds_plain_values_and_code_but_nothing_of_yaml(files: Files) -> None:
    data = marshal.loads(build(MemoryTree(files)).artifact)
    data["functions"] = [marshal.loads(one) for one in data["functions"]]
    kinds = {type(value).__name__ for value in atoms(data)}
    assert kinds <= {"str", "int", "float", "bool", "NoneType", "code"}
    texts = [value for value in atoms(data) if isinstance(value, str)]
    assert not [text for text in texts if "${" in text or "steps:" in text]


def test_the_artifact_links_and_answers_in_a_fresh_process(files: Files, tmp_path: Path) -> None:
    (tmp_path / "artifact").write_bytes(build(MemoryTree(files)).artifact)
    program = """
import asyncio, sys
from bbops.runtime.values.failures import FlowError
from bbops.runtime.linking.release import link
from bbops.compiler.testing.host import fake_host

artifact = open(sys.argv[1], "rb").read()
release = link(artifact, name="a", host=fake_host(None), env={"JWT_SECRET": None})
sent = []
async def send(message): sent.append(message)
scope = {"type": "http", "method": "GET", "path": "/api/me", "headers": [], "query_string": b""}
asyncio.run(release(scope, None, send))
unwanted = ("yaml", "pydantic", "bbops.compiler.check", "sqlalchemy")
known = [name for name in unwanted if name in sys.modules]
assert not known, known
print(sent[0]["status"], len(release.functions), len(list(release.statements())))
"""
    found = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "artifact")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stderr == ""
    assert found.stdout.split()[:2] == ["401", "11"]
    assert int(found.stdout.split()[2]) > 5


def test_every_statement_of_the_template_can_be_prepared(files: Files, tmp_path: Path) -> None:
    tables = {path: text for path, text in files.items() if path.startswith("tables/")}
    with Bench(tmp_path, tables) as bench:
        release = link(build(MemoryTree(files)).artifact, name="a", host=bench.host, env={})
        for text in release.statements():
            bench.loop.run_until_complete(bench.door.prepare(text))


# ---- lines

DEEP = """# a comment
input: { x?: json? }

steps:
  - set: { a: 1 }

  - if: vars.a == 1
    then:
      - loop:
          over: ([1, 2])
          each: n
          steps:
            - log:
                message: fine

            - set:
                b: ${ vars.n + 1 }
                c: ${ input.x + vars.n }
"""


def test_a_failure_points_at_the_line_of_its_value(serving: Serving) -> None:
    async def tell(client: Any) -> None:
        await client.ask("POST", "/run", {"x": "text"})
        _, _, data = client.release.answering.host.log.lines[-1]
        assert data["step"] == "functions/run.yaml:18"

    talk(serving, with_function(DEEP), tell)


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ("  - find:\n      table: notes\n      where: >-\n        title == input.x\n", 3),
        ("  - return:\n      status: ${ input.x }\n      value: a\n", 0),
        ("  - set:\n      a: |\n        text\n        ${ input.x }\n", 4),
        ("  - if: input.x\n    then: [ { log: { message: a } } ]\n", 3),
    ],
)
def test_every_failure_points_into_its_step(steps: str, line: int, serving: Serving) -> None:
    async def tell(client: Any) -> None:
        reply = await client.ask("POST", "/run", {"x": [5, {}]})
        assert reply.status == 400
        ((_, _, data),) = client.release.answering.host.log.lines
        assert data["step"] == (f"functions/run.yaml:{line}" if line else "")

    talk(serving, with_function(f"input: {{ x: json }}\nsteps:\n{steps}"), tell)


def test_a_failure_in_a_called_function_points_there(ask: Ask, serving: Serving) -> None:
    outer = "steps:\n  - call: { function: inner }\n"
    inner = "steps:\n  - set: { a: \"${ '1' | parseJson }\" }\n"
    inner += "  - log: { message: '${ vars.a.c + 1 }' }\n"

    async def tell(client: Any) -> None:
        assert (await client.ask("POST", "/run")).status == 400
        ((_, _, data),) = client.release.answering.host.log.lines
        assert data["step"] == "functions/inner.yaml:3"

    talk(serving, with_function(outer) | {"functions/inner.yaml": inner}, tell)


def test_an_artifact_of_another_version_is_not_run(files: Files) -> None:
    content = marshal.loads(build(MemoryTree(files)).artifact)
    content["format"] = "1 of another python"
    with pytest.raises(FlowError, match="publish it again"):
        link(marshal.dumps(content), name="old", host=None, env={})
