"""Hostile texts go in and out as they are: JSON, query, path, forms, headers, file names."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pytest

from bbops.compiler.testing.client import Client, serve
from bbops.runtime.http.uploads import clean_name
from bbops.source.tree import MemoryTree
from bbops_server.process.host.run_folders import RunFolders
from tests.conftest import ENV, Serving, run, sample
from tests.support.hostile import FAMILIES, MANY, hostile_texts
from tests.support.patience import eventually

TEXTS = hostile_texts()
ECHO = "input: { a: string }\nsteps:\n  - return: { value: '${ input.a }' }\n"
FILES = sample(
    functions__echo=ECHO,
    functions__query="query: { a: string }\nsteps:\n  - return: { value: '${ query.a }' }\n",
    functions__path="params: { a: string }\nsteps:\n  - return: { value: '${ params.a }' }\n",
    functions__keep=(
        "input: { a: string }\nsteps:\n"
        "  - insert: { table: texts, data: { text: '${ input.a }' } }\n    as: row\n"
        "  - find: { table: texts, where: text == input.a and id == vars.row.id, one: required }\n"
        "    as: found\n  - return: { value: '${ vars.found.text }' }\n"
    ),
    functions__file="steps:\n  - return: { value: '${ input.file.name }' }\n",
    tables__texts=(
        "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
        "  text: { type: text }\n"
    ),
    endpoints__echo="method: POST\npath: /echo\nfunction: echo\nauthentication: None\n",
    endpoints__keep="method: POST\npath: /keep\nfunction: keep\nauthentication: None\n",
    endpoints__query="method: GET\npath: /query\nfunction: query\nauthentication: None\n",
    endpoints__path="method: GET\npath: /path/:a\nfunction: path\nauthentication: None\n",
    endpoints__file=(
        "method: POST\npath: /file\nfunction: file\nauthentication: None\nfiles: { file: {} }\n"
    ),
)
FORM = {"content-type": "application/x-www-form-urlencoded"}
PARTS = {"content-type": "multipart/form-data; boundary=--b"}


def test_there_are_as_many_as_there_should_be() -> None:
    assert len(TEXTS) == len({*TEXTS}) == MANY
    assert all(any(text in TEXTS for text in family()) for family in FAMILIES)


def part(name: str, content: bytes, file: str | None = None) -> bytes:
    named = "" if file is None else f'; filename="{file}"'
    head = f'----b\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'
    return head.encode() + content + b"\r\n----b--\r\n"


async def by_json(client: Client, text: str) -> Any:
    return await client.ask("POST", "/echo", {"a": text})


async def by_database(client: Client, text: str) -> Any:
    return await client.ask("POST", "/keep", {"a": text})


async def by_escaped_json(client: Client, text: str) -> Any:
    escaped = "".join(
        f"\\u{unit:04x}"
        for unit in memoryview(text.encode("utf-16-le")).cast("H")
    )  # fmt: skip
    return await client.ask("POST", "/echo", raw=f'{{"a": "{escaped}"}}'.encode())


async def by_query(client: Client, text: str) -> Any:
    return await client.ask("GET", f"/query?{urlencode({'a': text})}")


async def by_form(client: Client, text: str) -> Any:
    return await client.ask("POST", "/echo", raw=urlencode({"a": text}).encode(), headers=FORM)


async def by_parts(client: Client, text: str) -> Any:
    return await client.ask("POST", "/echo", raw=part("a", text.encode()), headers=PARTS)


@pytest.mark.parametrize(
    "way", [by_json, by_escaped_json, by_database, by_query, by_form, by_parts]
)
def test_a_hostile_text_comes_back_as_it_was(way: Any, serving: Serving) -> None:
    async def whole() -> None:
        async with serving(FILES) as client:
            for text in TEXTS:
                reply = await way(client, text)
                assert (reply.status, msgspec.json.decode(reply.body)) == (200, text), repr(text)

    run(whole())


def test_a_hostile_text_in_the_path_comes_back_or_names_no_route(serving: Serving) -> None:
    async def whole() -> None:
        async with serving(FILES) as client:
            for text in TEXTS:
                reply = await client.ask("GET", f"/path/{quote(text, safe='')}")
                expected = (200, text) if text else (404, None)
                found = reply.json if reply.status == 200 else None
                assert (reply.status, found) == expected, repr(text)

    run(whole())


def test_a_hostile_name_of_a_file_is_cleaned_and_breaks_nothing(tmp_path: Path) -> None:
    folders = RunFolders(tmp_path / "runs")

    async def whole() -> None:
        tree = MemoryTree(FILES)
        async with serve(tree, tmp_path / "data.sqlite", ENV, uploads=folders) as client:
            for text in TEXTS[::4]:
                name = quote(text, safe=" ") if any(c in text for c in '\r\n"\0\\%') else text
                reply = await client.ask(
                    "POST", "/file", raw=part("file", b"x", name), headers=PARTS
                )
                assert reply.status in {200, 400}, repr(text)
                if reply.status == 200:
                    assert reply.json == clean_name(reply.json)
                    assert not {"/", "\\", "\0", "\n"} & {*reply.json}
        await eventually(lambda: uploads() <= {"upload-1"})

    def uploads() -> set[str]:
        return {path.name.split(".")[0] for path in tmp_path.rglob("upload-*")}

    run(whole())
    folders.close()
