"""A frontend beside the API: what is served to whom, for how long, and what never is."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bbops.compiler.check import validate
from bbops.compiler.check._files import LARGEST_BYTES, MOST_FILES
from bbops.runtime.http.file_answers import Range, read_range
from bbops.source.tree import Entry, MemoryTree
from bbops_server.data_plane.live.recent_frontends import note_live, read_recent
from bbops_server.publish.build.frontend import find_keeping, find_type
from tests.conftest import FRAGMENTS, ROOT
from tests.support.frontend import (
    BUILT,
    PACKED,
    PAGE,
    SCRIPT,
    SECRET,
    SETTINGS,
    commit,
    make,
    server,
)
from tests.support.patience import wait_for
from tests.support.raw import send
from tests.support.served import Served, git
from tests.support.small_project import FILES

__all__ = ["server"]

HTML = {"accept": "text/html,application/xhtml+xml"}


def get(server: Served, path: str, **headers: str) -> httpx.Response:
    plain = {"accept-encoding": "identity"}
    return server.api.get(
        path, headers=plain | {k.replace("_", "-"): v for k, v in headers.items()}
    )


def test_routes_come_first_then_files(server: Served) -> None:
    assert get(server, "/hello").json() == {"text": "hello", "version": 1}
    page = get(server, "/")
    assert (page.status_code, page.text) == (200, PAGE)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["x-release"] == get(server, "/hello").headers["x-release"]
    assert get(server, "/docs/").text == "<title>Docs</title>"
    assert get(server, "/odd%20name%20%C3%A9.txt").text == "odd"
    assert get(server, "/.well-known/security.txt").text == "yes"


def test_unknown_paths_show_the_start_page_to_people_alone(server: Served) -> None:
    assert get(server, "/orders/7", **HTML).text == PAGE
    for path, headers in (
        ("/orders/7", {"accept": "*/*"}), ("/hello/nothing", HTML), ("/notes/7/8", HTML),
        ("/~nothing", HTML), ("/assets/gone.js", {"accept": "*/*"}),
    ):  # fmt: skip
        answer = get(server, path, **headers)
        assert answer.status_code == 404, path
        assert "doctype" not in answer.text
    answer = server.api.post("/orders/7", headers=HTML)
    assert (answer.status_code, "doctype" in answer.text) == (404, False)


def test_a_folder_leads_to_its_page(server: Served) -> None:
    answer = get(server, "/docs?a=1", **HTML)
    assert (answer.status_code, answer.headers["location"]) == (307, "./docs/?a=1")


def test_each_file_is_kept_as_long_as_it_may_be(server: Served) -> None:
    def kept(path: str) -> str:
        return get(server, path, **HTML).headers["cache-control"]

    assert kept("/assets/app-BwqKXYh3.js") == "public, max-age=31536000, immutable"
    assert kept("/assets/plain.css") == "public, max-age=0, must-revalidate"
    assert kept("/") == kept("/orders/7") == "no-cache"
    known = get(server, "/assets/plain.css").headers["etag"]
    answer = get(server, "/assets/plain.css", if_none_match=f'"other", {known}')
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", known)


def test_text_is_sent_packed_to_who_takes_it(server: Served) -> None:
    path = "/assets/app-BwqKXYh3.js"
    answer = get(server, path, accept_encoding="br;q=0, gzip")
    assert answer.headers["content-encoding"] == "gzip"
    assert (answer.text, answer.headers["vary"]) == (SCRIPT, "accept-encoding")
    assert int(answer.headers["content-length"]) < 200
    plain = get(server, path, accept_encoding="gzip;q=0")
    assert "content-encoding" not in plain.headers
    assert plain.headers["etag"] != answer.headers["etag"]


def test_a_part_is_sent_to_who_asks_for_it(server: Served) -> None:
    path = "/assets/plain.css"
    part = get(server, path, range="bytes=5-8")
    assert (part.status_code, part.text) == (206, "{ co")
    assert part.headers["content-range"] == "bytes 5-8/21"
    assert get(server, path, range="bytes=-3").text == " }\n"
    assert get(server, path, range="bytes=99-").status_code == 416
    assert get(server, path, range="bytes=5-8", if_range='"other"').status_code == 200
    assert get(server, path, range="bytes=0-1,3-4").status_code == 200


def test_head_says_the_same_without_the_file(server: Served) -> None:
    for path in ("/", "/assets/plain.css", "/orders/7"):
        full, head = get(server, path, **HTML), server.api.head(path, headers=HTML | ID)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == full.headers["content-length"]


ID = {"accept-encoding": "identity"}


def test_other_methods_are_told_what_there_is(server: Served) -> None:
    answer = server.api.delete("/assets/plain.css")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", [
    "/.env", "/.git-like/file.txt", "/%2eenv", "/../project.yaml", "/assets/../../project.yaml",
    "/%2e%2e/%2e%2e/project.yaml", "/..%2f..%2fproject.yaml", "/%252e%252e/project.yaml",
    "/..\\..\\project.yaml", "/assets/..%5c..%5cproject.yaml", "/index.html%00.js", "/%00",
    "/secret-source.js", "//etc/passwd", "/assets//plain.css", "/assets/plain.css/", "/%ff%fe",
    "/assets/%2e/plain.css", "/INDEX.html", "/assets/plain.css%20", "/assets",
])  # fmt: skip
def test_no_path_leads_out_of_the_files(server: Served, path: str) -> None:
    host = f"127.0.0.1:{httpx.URL(server.serving['url']).port}"
    request = f"GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
    (answer,) = send(server.serving["url"], request.encode("latin-1"))
    assert answer.status in {400, 404}, answer
    assert b"doctype" not in answer.body
    assert b"bbops: 1" not in answer.body


def test_pages_are_told_where_the_api_is(server: Served) -> None:
    answer = get(server, "/~config.json")
    told = answer.json()
    assert (told["baseUrl"], told["project"]) == (server.serving["url"], "small")
    assert told["session"] is None
    assert answer.headers["access-control-allow-origin"] == "*"


def test_a_publication_takes_api_and_files_together_and_keeps_old_chunks(
    server: Served, tmp_path: Path
) -> None:
    new = PAGE.replace("BwqKXYh3", "Qx81kPlm")
    (server.repository / "frontend/dist/assets/app-BwqKXYh3.js").unlink()
    commit(server, {
        "frontend/dist/index.html": new, "frontend/dist/assets/app-Qx81kPlm.js": "export {}\n",
    })  # fmt: skip
    server.live()
    assert get(server, "/").text == new
    assert get(server, "/assets/app-Qx81kPlm.js").status_code == 200
    assert get(server, "/assets/app-BwqKXYh3.js").text == SCRIPT
    restarted_with = server.repository / ".bbops/state/publication.json"
    assert json.loads(restarted_with.read_text())["frontend"].endswith(".json")


def test_a_file_with_a_secret_is_never_published(server: Served) -> None:
    before = get(server, "/").text
    commit(server, {"frontend/dist/assets/leak.js": f"const key = {json.dumps(SECRET)}\n"})
    stalled = server.stalled()
    assert stalled["reason"] == "SecretInFrontend"
    assert "'/assets/leak.js'" in stalled["message"]
    assert "'SECRET'" in stalled["message"]
    assert SECRET not in json.dumps(stalled) + json.dumps(server.status())
    assert get(server, "/").text == before
    git(server.repository, "rm", "-qf", "frontend/dist/assets/leak.js")
    commit(server, {"frontend/dist/assets/new.txt": "fine"})
    server.live()


@pytest.mark.long
def test_a_restart_serves_the_files_again(tmp_path: Path) -> None:
    folder = make(tmp_path / "small", BUILT)
    with Served(folder, tmp_path / "home") as server:
        server.live()
    with Served(folder, tmp_path / "home") as server:
        wait_for(lambda: get(server, "/").status_code == 200)
        assert get(server, "/assets/app-BwqKXYh3.js").text == SCRIPT


@pytest.mark.long
def test_a_frontend_is_published_on_its_own(tmp_path: Path) -> None:
    folder = make(tmp_path / "small", {})
    dist = write_files(tmp_path / "dist", {"index.html": PAGE, "a/b.txt": "b", ".env": "no"})
    with Served(folder, tmp_path / "home") as server:
        server.live()
        assert get(server, "/", **HTML).status_code == 404
        done = publish(server, dist)
        assert done.returncode == 0, done.stderr
        assert "frontend/v1" in done.stdout
        server.live()
        assert get(server, "/").text == PAGE
        assert get(server, "/a/b.txt").text == "b"
        (dist / "index.html").write_text("<title>Two</title>")
        assert "frontend/v2" in publish(server, dist).stdout
        server.live()
        assert get(server, "/").text == "<title>Two</title>"
        files = git(folder, "ls-tree", "-r", "--name-only", "frontend/v2")
        assert files.splitlines() == ["a/b.txt", "index.html"]
        assert git(folder, "status", "--porcelain") == ""
        listed = server.bbops("frontend", "list")
        assert [one.split()[0] for one in listed.stdout.splitlines()] == [
            "frontend/v2", "frontend/v1"
        ]  # fmt: skip
        commit(server, {"endpoints/hello.yaml": FILES["endpoints/hello.yaml"] + "# again\n"})
        server.live()
        assert get(server, "/").text == "<title>Two</title>"


@pytest.mark.long
def test_a_git_lfs_pointer_is_never_published(tmp_path: Path) -> None:
    folder = make(tmp_path / "small", {})
    pointer = (ROOT / "tests/golden/check/lfs-pointer/project/docs/plan.pdf").read_text()
    dist = write_files(tmp_path / "dist", {"index.html": PAGE, "img/a.png": pointer})
    with Served(folder, tmp_path / "home") as server:
        server.live()
        done = publish(server, dist)
        assert done.returncode == 2
        assert "'img/a.png' is a Git LFS pointer" in done.stderr
        assert "run 'git lfs pull'" in done.stderr
        assert git(folder, "tag", "--list", "frontend/*") == ""


def write_files(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def publish(server: Served, dist: Path) -> Any:
    return server.bbops("frontend", "publish", str(dist))


# ---- pure
@pytest.mark.parametrize(("name", "keeping"), [
    ("/index.html", "page"), ("/assets/index-BwqKXYh3.js", "hashed"),
    ("/main.3f2a91bcd0.css", "hashed"), ("/main.3f2a91bc.js.map", "hashed"),
    ("/my-component.js", "plain"), ("/photo-20240101.jpg", "plain"), ("/my-Overview.js", "plain"),
    ("/robots.txt", "plain"), ("/BwqKXYh3/app.js", "plain"), ("/service-worker.js", "plain"),
])  # fmt: skip
def test_a_digest_in_a_name_is_known_from_words(name: str, keeping: str) -> None:
    assert find_keeping(name) == keeping


def test_types_come_from_names_alone() -> None:
    types = {name: find_type(name) for name in ("/a.js", "/a.WASM", "/a.woff2", "/a", "/a.json")}
    assert list(types.values()) == [
        "text/javascript; charset=utf-8", "application/wasm", "font/woff2",
        "application/octet-stream", "application/json; charset=utf-8",
    ]  # fmt: skip


def test_ranges_are_read_as_the_standard_says() -> None:
    def read(text: str, size: int = 10) -> Range | None:
        return read_range({b"range": text.encode()}, size, b'"x"')

    assert read("bytes=0-") == Range(0, 9)
    assert read("bytes=-4") == Range(6, 9)
    assert read("bytes=-99") == Range(0, 9)
    assert read("bytes=3-99") == Range(3, 9)
    assert read("bytes=5-3") is None
    assert read("lines=1-2") is None
    for text in ("bytes=10-", "bytes=-0"):
        found = read(text)
        assert found is not None
        assert found.is_beyond


def test_a_frontend_has_its_limits() -> None:
    class Counted(MemoryTree):
        extra: tuple[tuple[str, int, str], ...] = ()

        def entries(self) -> list[Entry]:
            mine = list(super().entries())
            like = mine[0]
            return mine + [
                like._replace(path=path, size_bytes=size, kind=kind)  # type: ignore[arg-type]
                for path, size, kind in self.extra
            ]

    def codes(*extra: tuple[str, int, str]) -> list[str]:
        tree = Counted({"project.yaml": SETTINGS})
        tree.extra = extra
        return [one.code for one in validate(tree)[1] if one.code not in FRAGMENTS]

    assert codes() == []
    assert codes(("frontend/dist/a.bin", LARGEST_BYTES + 1, "file")) == ["frontend-too-large"]
    assert codes(("frontend/dist/a", 1, "symlink")) == ["not-a-file"]
    assert codes(("frontend/a", LARGEST_BYTES + 1, "file")) == []
    many = [(f"frontend/dist/{number}", 1, "file") for number in range(MOST_FILES + 1)]
    assert codes(*many) == ["frontend-too-large"]


def test_what_was_live_is_remembered_with_its_end(tmp_path: Path) -> None:
    (tmp_path / "frontend").mkdir()
    start = datetime(2026, 1, 2, tzinfo=UTC)
    for hours, name in enumerate(("a", "a", "b", "a")):
        note_live(tmp_path, name, start + timedelta(hours=hours))
    found = read_recent(tmp_path)
    assert [(one.name, one.until is None) for one in found] == [("b", False), ("a", True)]


def test_what_a_build_has_packed_is_taken(server: Served) -> None:
    path = "/packed.js"
    with server.api.stream("GET", path, headers={"accept-encoding": "gzip, br"}) as answer:
        assert answer.headers["content-encoding"] == "br"
        assert b"".join(answer.iter_raw()) == b"brotli"
    with server.api.stream("GET", path, headers={"accept-encoding": "gzip"}) as answer:
        assert b"".join(answer.iter_raw()) == PACKED
    assert get(server, f"{path}.gz").status_code == 404


@pytest.mark.long
def test_a_page_of_a_draft_is_opened_at_an_address_of_its_own(server: Served) -> None:
    commit(server, {"frontend/dist/index.html": "<title>Draft</title>"})
    git(server.repository, "branch", "topic")
    git(server.repository, "reset", "-q", "--hard", "HEAD~1")
    api = "/api/projects/small/drafts/topic"
    wait_for(lambda: server.control.get("/api/projects/small/drafts").json())
    token = server.control.post(f"{api}/token", json={}).json()["token"]
    opened = get(server, "/~drafts/topic/orders?a=1", x_draft_token=token, **HTML)
    assert opened.status_code == 303
    where = opened.headers["location"]
    assert where.startswith("/~drafts/topic/~as/")
    assert where.endswith("/orders?a=1")
    page = get(server, where, **HTML)
    assert (page.status_code, page.text) == (200, "<title>Draft</title>")
    assert "sandbox" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "no-referrer"
    base = where.removesuffix("orders?a=1")
    answer = get(server, f"{base}hello", origin="null")
    assert answer.json()["text"] == "hello"
    assert answer.headers["access-control-allow-origin"] == "*"
    asked = {"origin": "null", "access-control-request-method": "POST"}
    assert server.api.options(f"{base}notes", headers=asked).status_code == 204
    key = base.split("/")[-2]
    assert get(server, "/~drafts/topic/hello", x_draft_token=f"bbd_{key}").status_code == 401
    assert get(server, base.replace(key, f"{key[:-3]}AAA") + "hello").status_code == 401
    assert get(server, "/~drafts/topic/assets/plain.css").status_code == 401
