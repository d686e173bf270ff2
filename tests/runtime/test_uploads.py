"""Files of requests: streamed to the folder of the run, bounded, looked at, and gone again."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.compiler.testing.client import Client, Reply
from bbops.runtime.http.uploads import MAX_FILES, clean_name
from bbops.runtime.values.file_types import content_type
from bbops_server.process.host.run_folders import RunFolders
from tests.conftest import Files, Serving, run, with_function
from tests.support.patience import eventually
from tests.support.raw_requests import raw_ask
from tests.support.uploads import BOUND, HEADERS, PNG, Part, body, png

pytestmark = pytest.mark.quick

SHOW = "input: { title?: string, n?: integer }\nsteps:\n  - return: { value: '${ input }' }\n"
FILES = """files:
  picture: { maxSize: 2KB, types: [image/png, image/jpeg] }
  more?: { maxSize: 1KB, many: true }
"""

Tell = Callable[[Client], Awaitable[Any]]


def project(files: str = FILES, function: str = SHOW, more: str = "") -> Files:
    found = with_function(function)
    found["endpoints/run.yaml"] += files + more
    return found


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[RunFolders]:
    found = RunFolders(tmp_path / "runs")
    yield found
    found.close()


@pytest.fixture
def taking(serving: Serving, folders: RunFolders) -> Callable[..., Any]:
    """Tell a story to a project whose runs have files."""

    def talk(tell: Tell, files: Files | None = None) -> Any:
        async def whole() -> Any:
            async with serving(files or project(), uploads=folders) as client:
                return await tell(client)

        return run(whole())

    return talk


@pytest.fixture
def post(taking: Callable[..., Any]) -> Callable[..., Reply]:
    """Send one body of parts."""

    def once(*parts: Part, raw: bytes | None = None, files: Files | None = None) -> Any:
        async def tell(client: Client) -> Reply:
            sent = body(*parts) if raw is None else raw
            return await client.ask("POST", "/run", raw=sent, headers=HEADERS)

        return taking(tell, files)

    return once


Post = Callable[..., Reply]


def test_a_file_stands_in_the_input_beside_the_fields(post: Post) -> None:
    reply = post(("title", None, "", b"hi"), png(), ("n", None, "", b"5"))
    assert reply.status == 200
    picture = {"path": "upload-1.png", "name": "a.png", "size": len(PNG)}
    assert reply.json == {
        "title": "hi", "n": 5, "picture": {**picture, "contentType": "image/png"},
    }  # fmt: skip


def test_many_files_are_a_list_in_their_order(post: Post) -> None:
    more = [("more", f"{at}.txt", "text/plain", b"x" * at) for at in (3, 1)]
    found = post(png(), *more).json["more"]
    assert [(one["name"], one["size"]) for one in found] == [("3.txt", 3), ("1.txt", 1)]
    assert len({one["path"] for one in found}) == 2


def test_the_charset_of_a_file_is_no_matter(post: Post) -> None:
    content = "name;größe\n".encode("latin-1")
    reply = post(png(), ("more", "list.csv", "text/csv; charset=iso-8859-1", content))
    assert reply.status == 200
    assert reply.json["more"] == [
        {"path": "upload-2.csv", "name": "list.csv", "size": 11, "contentType": "text/csv"},
    ]  # fmt: skip


def test_a_text_in_latin_1_is_decoded(post: Post) -> None:
    given = "größe €".encode("cp1252")
    for charset in ("iso-8859-1", "Windows-1252"):
        reply = post(png(), ("title", None, f"text/plain; charset={charset}", given))
        assert reply.json["title"] == "größe €"


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ("filename*=UTF-8''na%C3%AFve%20%E2%82%AC.png", "naïve €.png"),
        ("filename=\"naive.png\"; filename*=utf-8'en'na%C3%AFve.png", "naïve.png"),
        ("filename*=utf-8''na%C3%AFve.png; filename=naive.png", "naïve.png"),
        ("filename*=ISO-8859-1''na%EFve.png", "naïve.png"),
        ('filename="=?UTF-8?B?bmHDr3ZlLnBuZw==?="', "naïve.png"),
        ('filename="=?utf-8?Q?na=C3=AFve_1=2Epng?="', "naïve 1.png"),
        ('filename="naïve.png"', "naïve.png"),
        ('filename="a%22b.png"', 'a"b.png'),
        ("filename=\"a; filename*=UTF-8''b.png\"", "a; filename*=UTF-8''b.png"),
        ("filename=\"a.png\"; filename*=klingon''b.png", "a.png"),
        ("filename*=UTF-8''..%2F..%2Fetc%2Fpasswd.png", "passwd.png"),
        ('filename="=?x?B?!?=.png"', "=?x?B?!?=.png"),
    ],
)
def test_a_file_is_called_as_common_clients_write_its_name(
    taking: Callable[..., Any], disposition: str, name: str
) -> None:
    head = f'Content-Disposition: form-data; name="picture"; {disposition}'
    assert sent_with(taking, head.encode())["name"] == name


def test_a_name_in_latin_1_is_decoded(taking: Callable[..., Any]) -> None:
    head = b'Content-Disposition: form-data; name="picture"; filename="na\xefve.png"'
    assert sent_with(taking, head)["name"] == "naïve.png"


def sent_with(taking: Callable[..., Any], head: bytes) -> dict[str, Any]:
    """Return the picture that a form with this head brings."""
    part = b"--%b\r\n%b\r\nContent-Type: image/png\r\n\r\n" % (BOUND.encode(), head)
    raw = part + PNG + b"\r\n--%b--\r\n" % BOUND.encode()

    async def tell(client: Client) -> Any:
        return await client.ask("POST", "/run", raw=raw, headers=HEADERS)

    reply = taking(tell)
    assert reply.status == 200, reply.body
    found: dict[str, Any] = reply.json["picture"]
    return found


def test_an_endpoint_may_have_files_and_no_input(post: Post) -> None:
    function = "steps:\n  - return: { value: '${ input.picture.size }' }\n"
    assert post(png(), files=project(function=function)).json == len(PNG)


def test_what_is_missing_or_twice_is_told_with_every_wrong_field(post: Post) -> None:
    assert post(("n", None, "", b"x")).json["error"]["fields"] == {
        "n": ["must be a whole number"], "picture": ["is required"],
    }  # fmt: skip
    assert post(png(), png()).json["error"]["fields"] == {"picture": ["must be one file"]}
    text = post(("picture", None, "", b"text"))
    assert text.json["error"]["fields"] == {"picture": ["must be a file"]}


def test_a_field_that_nobody_filled_is_no_file(post: Post) -> None:
    reply = post(png(), ("more", "", "application/octet-stream", b""))
    assert "more" not in reply.json


def test_files_under_other_names_are_dropped(post: Post, folders: RunFolders) -> None:
    reply = post(png(), png("other", b"x" * 500))
    assert reply.status == 200
    assert "other" not in reply.json


@pytest.mark.parametrize("sent", [b"GIF89a" + b"\0" * 40, b"%PDF-1.7\n", b"hello", b"<html>", b""])
def test_a_file_is_what_its_bytes_say(post: Post, sent: bytes) -> None:
    reply = post(png(content=sent))
    if sent:
        expected = ["must be one of: image/png, image/jpeg"]
        assert reply.json["error"]["fields"] == {"picture": expected}
    else:
        assert reply.json["picture"]["size"] == 0


@pytest.mark.parametrize(
    ("head", "declared", "expected"),
    [
        (PNG, "image/png", "image/png"),
        (PNG, "", "image/png"),
        (PNG, "text/html", "image/png"),
        (b"hello", "text/plain", "text/plain"),
        (b"BM,a\n1,2\n", "text/csv", "text/csv"),
        (b'{"a": 1}', "application/json", "application/json"),
        (b"PK\x03\x04" + b"\0" * 40, "application/zip", "application/zip"),
        (b"MZ\x90\0" + b"\0" * 99, "image/png", "application/vnd.microsoft.portable-executable"),
        (b"hello", "image/png", "application/octet-stream"),
        (b"\x00\x01\x02\x03" * 9, "text/plain", "text/plain"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", "image/svg+xml"),
        (b"\0\0\0\x18ftypheic" + b"\0" * 40, "image/heic", "image/heic"),
        ("ü".encode() * 3_000, "text/plain", "text/plain"),
        (b"anything", "", "application/octet-stream"),
    ],
)
def test_bytes_count_more_than_the_senders_word(head: bytes, declared: str, expected: str) -> None:
    assert content_type(head[:4_096], declared) == expected


# ---- bounds
def test_a_file_has_its_size_and_no_more(post: Post) -> None:
    assert post(png(content=PNG + b"\0" * (2048 - len(PNG)))).status == 200
    reply = post(png(content=PNG + b"\0" * (2049 - len(PNG))))
    assert (reply.status, reply.headers["connection"]) == (413, "close")
    assert reply.json["error"]["message"] == "file 'picture' is larger than 2,048 bytes"


def test_the_whole_body_is_bounded(post: Post) -> None:
    files = project(more="maxBody: 4KB\n")
    assert post(png(), ("title", None, "", b"x" * 3_000), files=files).status == 200
    assert post(png(), ("title", None, "", b"x" * 5_000), files=files).status == 413
    assert post(png(), ("title", None, "", b"x" * (1 << 20)), ("n", None, "", b"1")).status == 413


@pytest.mark.parametrize(
    "raw",
    [
        body(png(), end=""),
        body(png())[:-20],
        body(png()).replace(BOUND.encode(), b"other"),
        body(*[("n", None, "", b"1")] * 10_000),
        body(*[("more", "a", "", b"")] * (MAX_FILES + 1)),
        body(("title", None, "multipart/mixed; boundary=c", b"--c\r\n\r\nx\r\n--c--")),
        body(("title", None, "text/plain; charset=utf-16", b"x")),
        body(("title", None, "", b"\xff")),
        body(("title", "a" * 5_000, "", b"x")),
        b"",
        b"--",
        b"\r\n" * 100,
    ],
)
def test_what_cannot_be_read_is_told_and_leaves_nothing(
    post: Post, raw: bytes, folders: RunFolders
) -> None:
    reply = post(raw=raw)
    assert (reply.status, reply.json["error"]["code"]) == (400, "invalidInput")
    assert "form" in reply.json["error"]["message"] or not reply.json["error"]["fields"]


def test_json_has_no_files_but_may_leave_them_out(taking: Callable[..., Any]) -> None:
    async def tell(client: Client) -> None:
        needed = await client.ask("POST", "/run", {"title": "a"})
        assert needed.json["error"]["fields"] == {"picture": ["is required"]}

    taking(tell)

    async def leave_out(client: Client) -> None:
        assert (await client.ask("POST", "/run", {"title": "a"})).json == {"title": "a"}

    taking(leave_out, project(FILES.replace("picture:", "picture?:")))


# ---- the folder
def left(folders: RunFolders) -> list[Path]:
    # a folder may go while it is looked through
    return [Path(at, name) for at, _, names in os.walk(folders._root) for name in names]


KEEPING = """
input: { title?: string }
steps:
  - hashPassword: { password: secret, rounds: 4 }
  - return: { value: 1 }
"""


def test_a_folder_lives_as_long_as_its_run(taking: Callable[..., Any], folders: RunFolders) -> None:
    seen: list[bytes] = []

    async def tell(client: Client) -> None:
        release = client.release
        flow = release.functions["run"].flow

        async def looking(given: Any) -> Any:
            seen.extend(path.read_bytes() for path in left(folders))
            return await flow(given)

        release.functions["run"].flow = looking
        large = PNG + bytes(700_000)
        reply = await client.ask("POST", "/run", raw=body(png(content=large)), headers=HEADERS)
        assert (reply.status, seen) == (200, [large])
        await eventually(lambda: not left(folders))

    taking(tell, project(FILES.replace("2KB", "1MB"), KEEPING))


@pytest.mark.parametrize("how", ["leaves", "fails", "refused"])
def test_it_is_gone_whatever_happens(
    taking: Callable[..., Any], folders: RunFolders, how: str
) -> None:
    function = (
        SHOW
        if how != "fails"
        else SHOW.replace("'${ input }'", "'${ 1 / (input.n | default(0)) }'")
    )

    async def tell(client: Client) -> None:
        parts = [body(png(content=PNG + bytes(400_000)), ("n", None, "", b"0"))]
        if how == "leaves":
            parts = [parts[0][:300_000]]
        if how == "refused":
            parts = [parts[0][:300_000], b"x" * 2_000_000]
        given = list(HEADERS.items())
        status, _, _ = await raw_ask(
            client, "POST", "/run", headers=given, parts=parts, leaves=how == "leaves"
        )
        assert status == {"leaves": 0, "fails": 400, "refused": 413}[how]
        await eventually(lambda: not left(folders))

    taking(tell, project(FILES.replace("2KB", "1MB"), function))


def test_middleware_stops_a_request_before_its_files_are_taken(
    taking: Callable[..., Any], folders: RunFolders
) -> None:
    files = project()
    files["channels/api.yaml"] = (
        "name: A\nbasePath: /api\nauthentication: None\nmiddleware: [stop]\n"
    )
    files["functions/stop.yaml"] = "steps:\n  - throw: { status: 403 }\n"
    files["endpoints/run.yaml"] = files["endpoints/run.yaml"].replace(
        "authentication: None", "channel: api"
    )

    async def tell(client: Client) -> None:
        given = list(HEADERS.items())
        status, _, _ = await raw_ask(client, "POST", "/api/run", headers=given, leaves=True)
        assert status == 403
        assert not folders._root.exists()

    taking(tell, files)


def test_slow_files_have_more_time_than_steps(taking: Callable[..., Any]) -> None:
    async def tell(client: Client) -> None:
        active_requests = client.release.active_requests
        active_requests.loop = asyncio.get_running_loop()
        sweeping = asyncio.create_task(active_requests.keep_sweeping())
        sent = body(png())
        pieces = [sent[:80], sent[80:]]

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0.2)
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

        statuses: list[int] = []

        async def send(message: dict[str, Any]) -> None:
            statuses.append(message.get("status", 0))

        scope = {
            "type": "http", "method": "POST", "path": "/run", "raw_path": b"/run",
            "query_string": b"", "client": None,
            "headers": [(name.encode(), value.encode()) for name, value in HEADERS.items()],
        }  # fmt: skip
        await client.release(scope, receive, send)
        sweeping.cancel()
        assert statuses[0] == 200

    taking(tell, project(more="timeout: 200ms\n"))


def test_a_full_disk_answers_503(
    taking: Callable[..., Any], folders: RunFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folders, "make", fail)

    async def tell(client: Client) -> None:
        reply = await client.ask("POST", "/run", raw=body(png()), headers=HEADERS)
        assert (reply.status, reply.json["error"]["code"]) == (503, "storageFull")
        assert reply.headers["retry-after"] == "30"

    taking(tell)


def test_what_a_dead_process_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    dead, alive, new = RunFolders(root), RunFolders(root), RunFolders(root)
    for one in (dead, alive):
        (one.make() / "file").write_bytes(b"x")
    os.close(dead._lock)  # what the end of a process does
    new.sweep()
    assert [path.is_relative_to(alive._own or "") for path in root.rglob("file")] == [True]
    alive.close()
    assert not list(root.rglob("file"))


# ---- names
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a.png", "a.png"), ("../../etc/passwd", "passwd"), ("C:\\temp\\a.txt", "a.txt"),
        ("a\0b\r\n.txt", "ab.txt"), ("", "file"), (".", "file"), ("..", "file"), ("...", "file"),
        ("  x  ", "x"), ("/", "file"), ("\u202eexe.png", "exe.png"), ("größe.jpg", "größe.jpg"),
        (".htaccess", "htaccess"), ("a/b/", "file"), ("x" * 300 + ".png", "x" * 196 + ".png"),
    ],
)  # fmt: skip
def test_names_of_files_are_cleaned(given: str, expected: str) -> None:
    assert clean_name(given) == expected


@given(st.text(max_size=400))
def test_a_cleaned_name_is_one_harmless_name(given: str) -> None:
    found = clean_name(given)
    assert found == clean_name(found)
    assert 1 <= len(found) <= 200
    assert not set(found) & set("/\\\0\r\n")
    assert found not in {".", ".."}
