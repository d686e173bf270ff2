"""A file of the request as its answer: whole, in parts, and nothing from elsewhere."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bbops.compiler.check import validate
from bbops.compiler.testing.client import Client, Reply
from bbops.runtime.http.file_answers import MOST_TAGGED_BYTES
from bbops.source.tree import MemoryTree
from bbops_server.process.host.run_folders import RunFolder, RunFolders
from tests.conftest import Serving, run, with_function
from tests.support.contracts import contract_of
from tests.support.patience import eventually
from tests.support.served import Served, git
from tests.support.small_project import endpoint, write_project
from tests.support.uploads import HEADERS, PNG, body, png

ECHO = "steps:\n  - return: { file: '${ input.picture.path }' }\n"
NAMED = "query: { name: string }\nsteps:\n  - return: { file: '${ query.name }' }\n"
TEXT = b"0123456789"


class Written(RunFolders):
    """Folders in which a step has written before."""

    content = TEXT

    def open(self) -> RunFolder:
        folder = super().open()
        path = folder._path = self.make()
        (path / "a.txt").write_bytes(self.content)
        (path / "page.html").write_bytes(b"<script>alert(1)</script>")
        (path / "sheet.csv").write_bytes(b"a,b\n" * 1000)
        (path / "empty").write_bytes(b"")
        (path / "folder").mkdir()
        (path / "inside.txt").symlink_to("a.txt")
        (path / "circle").symlink_to("circle")
        (path / "link").symlink_to("/etc/hostname")
        (path / "up").symlink_to("..")
        (self._root / "secret").write_bytes(b"secret")
        return folder


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Written]:
    found = Written(tmp_path / "runs")
    yield found
    found.close()


@pytest.fixture
def get(serving: Serving, folders: Written) -> Any:
    """Ask for a file that was written."""

    def once(
        name: str = "a.txt", *, method: str = "GET", function: str = NAMED, **headers: str
    ) -> Reply:  # fmt: skip
        async def tell() -> Reply:
            files = with_function(function, method="GET")
            async with serving(files, uploads=folders, detailed=True) as client:
                given = {key.replace("_", "-"): value for key, value in headers.items()}
                return await client.ask(method, f"/run?name={name}", headers=given)

        found: Reply = run(tell())
        return found

    return once


def test_a_file_is_sent_as_it_is(get: Any) -> None:
    reply = get()
    assert (reply.status, reply.body) == (200, TEXT)
    assert reply.headers["content-type"] == "text/plain"
    assert reply.headers["content-length"] == "10"
    assert reply.headers["accept-ranges"] == "bytes"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "content-disposition" not in reply.headers


def test_an_empty_file_is_an_empty_answer(get: Any) -> None:
    reply = get("empty")
    assert (reply.status, reply.body, reply.headers["content-length"]) == (200, b"", "0")
    assert get("empty", range="bytes=0-").status == 416


def test_head_says_how_much_it_is_and_sends_nothing(get: Any) -> None:
    reply = get(method="HEAD", range="bytes=0-1")
    assert (reply.status, reply.body, reply.headers["content-length"]) == (200, b"", "10")


@pytest.mark.parametrize(
    ("asked", "content", "said"),
    [
        ("bytes=2-4", b"234", "bytes 2-4/10"), ("bytes=-3", b"789", "bytes 7-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
    ],
)  # fmt: skip
def test_a_part_can_be_asked_for(get: Any, asked: str, content: bytes, said: str) -> None:
    reply = get(range=asked)
    assert (reply.status, reply.body, reply.headers["content-range"]) == (206, content, said)
    assert reply.headers["content-length"] == str(len(content))


def test_a_part_behind_the_end_is_refused(get: Any) -> None:
    reply = get(range="bytes=10-")
    assert (reply.status, reply.body) == (416, b"")
    assert reply.headers["content-range"] == "bytes */10"


@pytest.mark.parametrize("asked", ["bytes=1-2,4-5", "lines=1-2", "bytes=4-2"])
def test_what_is_no_single_part_gets_all_of_it(get: Any, asked: str) -> None:
    assert (get(range=asked).status, get(range=asked).body) == (200, TEXT)


def test_a_client_that_has_it_hears_only_that(get: Any) -> None:
    tag = get().headers["etag"]
    again = get(if_none_match=tag)
    assert (again.status, again.body) == (304, b"")
    assert get(range="bytes=0-1", if_range=tag).status == 206
    assert get(range="bytes=0-1", if_range='"other"').status == 200


def test_a_large_file_is_not_read_for_a_tag_and_one_of_the_function_counts(
    get: Any, folders: Written
) -> None:
    folders.content = b"x" * (MOST_TAGGED_BYTES + 1)
    assert "etag" not in get().headers
    own = "steps:\n  - return: { file: a.txt, headers: { etag: '\"v1\"' } }\n"
    assert get(function=own).headers["etag"] == '"v1"'
    assert get(function=own, if_none_match='"v1"').status == 304


def test_a_part_of_a_text_is_never_packed(get: Any) -> None:
    reply = get("sheet.csv", range="bytes=0-2999", accept_encoding="gzip")
    assert (reply.status, len(reply.body)) == (206, 3000)
    assert "content-encoding" not in reply.headers


@pytest.mark.parametrize(
    "name",
    ["../secret", "../../secret", "/etc/hostname", "link", "up/secret", "circle", "folder", "..",
     ".", "", "nothing", "a.txt/", "x" * 5000],
)  # fmt: skip
def test_nothing_outside_the_folder_is_sent(get: Any, name: str) -> None:
    reply = get(name)
    if name == "a.txt/":
        assert reply.body == TEXT or reply.status == 500
        return
    assert reply.status == 500
    assert reply.json["error"]["detail"] == "this run has no such file"
    assert reply.json["error"]["at"] == "functions/run.yaml:3"


def test_a_link_within_the_folder_leads_to_its_file(get: Any) -> None:
    assert get("inside.txt").body == TEXT


def test_what_a_browser_would_run_is_so_only_where_the_function_says_it(get: Any) -> None:
    assert get("page.html").headers["content-type"] == "application/octet-stream"
    said = "steps:\n  - return: { file: page.html, contentType: text/html }\n"
    reply = get(function=said)
    assert reply.headers["content-type"] == "text/html"
    assert reply.headers["x-frame-options"] == "SAMEORIGIN"


def test_status_and_headers_are_those_of_the_function(get: Any) -> None:
    headers = "{ content-disposition: attachment, x-more: 1 }"
    reply = get(
        function=f"steps:\n  - return: {{ status: 201, file: a.txt, headers: {headers} }}\n"
    )
    assert (reply.status, reply.body) == (201, TEXT)
    assert reply.headers["content-disposition"] == "attachment"
    assert (reply.headers["x-more"], "etag" in reply.headers) == ("1", False)


def test_a_file_can_be_caught_and_measured_like_any_failure(get: Any) -> None:
    caught = (
        "steps:\n  - try:\n      - return: { file: nothing }\n"
        "    catch:\n      - return: { value: none }\n"
    )
    assert get(function=caught).json == "none"


def test_a_binary_column_is_sent_as_its_bytes(serving: Serving, tmp_path: Path) -> None:
    function = (
        "steps:\n  - insert: { table: pictures, data: { content: 'iVBORw==' } }\n    as: made\n"
        "  - return: { value: '${ vars.made.content }', contentType: image/png }\n"
    )
    files = with_function(function)
    files["tables/pictures.yaml"] = (
        "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
        "  content: { type: binary }\n"
    )

    async def tell() -> Reply:
        async with serving(files) as client:
            return await client.ask("POST", "/run")

    reply = run(tell())
    assert (reply.status, reply.body) == (200, b"\x89PNG")
    (operation,) = contract_of(files).operations
    assert operation.answers[0].schema == {"type": "string", "format": "binary"}


def test_the_contract_says_that_it_is_bytes() -> None:
    (operation,) = contract_of(with_function(NAMED, method="GET")).operations
    answer = operation.answers[0]
    assert (answer.status, answer.content_type) == (200, "application/octet-stream")
    assert answer.schema == {"type": "string", "format": "binary"}


@pytest.mark.parametrize(
    ("function", "more", "message"),
    [
        ("steps:\n  - return: { file: a, value: 1 }\n", "", "either a 'value' or a 'file'"),
        ("steps:\n  - return: { file: 5 }\n", "", "'file' needs text, got integer"),
        ("steps:\n  - return: { file: a }\n", "idempotency: true\n", "responses with files"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_before(function: str, more: str, message: str) -> None:
    files = with_function(function)
    files["endpoints/run.yaml"] += more
    _, found = validate(MemoryTree(files))
    assert any(message in one.message for one in found), found


def test_a_function_that_is_only_called_has_no_client_to_send_a_file_to() -> None:
    files = with_function(
        "steps:\n  - call: { function: inner }\n    as: x\n  - return: { value: 1 }\n"
    )
    files["functions/inner.yaml"] = "steps:\n  - return: { file: a }\n"
    _, found = validate(MemoryTree(files))
    assert any("only called" in one.message for one in found), found


def test_the_folder_is_gone_when_the_client_leaves_in_the_middle(
    serving: Serving, folders: Written, tmp_path: Path
) -> None:
    folders.content = b"x" * (1 << 20)

    async def tell() -> None:
        files = with_function(NAMED, method="GET")
        async with serving(files, uploads=folders) as client:
            await _leave(client)
            await eventually(lambda: not [*filter(Path.is_dir, (tmp_path / "runs").glob("*/*"))])

    run(tell())


async def _leave(client: Client) -> None:
    """Ask for a large file, and be gone behind its first piece."""
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) == 2:
            asking.cancel()
            await asyncio.sleep(0)

    scope = {
        "type": "http", "method": "GET", "path": "/run", "raw_path": b"/run", "headers": [],
        "query_string": b"name=a.txt", "client": ("127.0.0.1", 1), "scheme": "http",
    }  # fmt: skip
    asking = asyncio.ensure_future(client.release(scope, receive, send))
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(sent) == 2


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("files")
    repository = folder / "project"
    run_ = endpoint("POST", "/run", "run") + "files:\n  picture: { maxSize: 20MB }\n"
    write_project(repository, {"functions/run.yaml": ECHO, "endpoints/run.yaml": run_})
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "Start"]):
        git(repository, *command)
    with Served(repository, folder / "home") as found:
        found.event("live")
        yield found


def test_a_large_upload_comes_back_whole_over_a_socket(served: Served) -> None:
    content = hashlib.shake_256(b"x").digest(5_000_000)
    reply = served.api.post("/run", files={"picture": ("a.bin", content)})
    assert (reply.status_code, reply.content == content) == (200, True)
    assert reply.headers["content-length"] == "5000000"
    picture = served.api.post("/run", files={"picture": ("a.png", PNG)})
    assert picture.headers["content-type"] == "image/png"


def test_a_client_may_leave_and_the_next_one_is_answered(served: Served) -> None:
    content = b"x" * 15_000_000
    with served.api.stream("POST", "/run", files={"picture": ("a.bin", content)}) as reply:
        assert next(reply.iter_raw())
    assert served.api.post("/run", files={"picture": ("a", b"abc")}).content == b"abc"
    assert isinstance(reply, httpx.Response)


def test_an_upload_comes_back(serving: Serving, tmp_path: Path) -> None:
    files = with_function(ECHO)
    files["endpoints/run.yaml"] += "files:\n  picture: { maxSize: 2KB }\n"

    async def tell() -> Reply:
        async with serving(files, uploads=RunFolders(tmp_path / "runs")) as client:
            return await client.ask("POST", "/run", raw=body(png()), headers=HEADERS)

    reply = run(tell())
    assert (reply.status, reply.body) == (200, PNG)
