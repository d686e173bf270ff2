"""localStorage: the same steps on the disk, in a bucket, and in the memory of a test."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest

from bbops.base.doors import Storage as Door
from bbops.compiler.testing.host import KeptFolder, KeptStorage, fake_host
from bbops.runtime.values.failures import Failure, FlowError, Thrown
from bbops.runtime.vendors._parts import read_base
from bbops.runtime.vendors._work import AddonFailure, Work
from bbops.runtime.vendors.local_storage import STEPS, from_bytes, to_bytes
from bbops_server.process.messages.projects import Bucket
from bbops_server.process.storage.bucket import BucketStorage
from bbops_server.process.storage.disk import DiskStorage
from bbops_server.process.storage.usage import StoredSize
from tests.conftest import run
from tests.vendors.asking import Asked
from tests.vendors.storage import REGION, Storage

ENOUGH = StoredSize(10_000_000, 1_000)
HOSTILE = [
    "../secret", "a/../../secret", "/etc/passwd", "..", ".", "", "a\\..\\..\\secret", "..\\secret",
    "C:/x", "a/./../../secret", "a\0b", "x" * 2_000, "a/" * 30 + "b", "notes/", ".bbops-usage",
    "a/.BBOPS-presence", "a\nb", ".gitignore", ".git/config", "../store/../secret", "a/\u202eb",
    "x" * 256,
]  # fmt: skip
HARMLESS = [
    "%2e%2e/secret", "\uff0e\uff0e/secret", "..;/x", "~/x", "file:///etc/passwd", "a b/ü&=+?#'*",
    ".hidden", "...", "con", "a/b/c/d.txt", "-rf", "ab:c",
]  # fmt: skip
UPLOAD = """steps:
  - localStorage.saveFile: { path: "in/${ input.file.name }", content: "${ input.file }" }
    as: kept
  - return: { file: "${ vars.kept.path }", from: localStorage }
"""
FILES = "files: { file: { maxSize: 5MB } }\n"


class Steps:
    """The steps of the addon, on a storage of one kind."""

    def __init__(self, open_: Callable[[StoredSize], Door]) -> None:
        self.open, self.folder = open_, KeptFolder()

    def work(self, door: Door | None, base: str = "") -> Work:
        """Return what a step is given."""
        host = replace(fake_host(cast("Any", None)), storage=door)
        config = {"baseDirectory": base} if base else {}
        return Work("localStorage", host, config, self.folder)

    def each(self, *steps: tuple[str, Mapping[str, Any]], most: StoredSize = ENOUGH) -> list[Any]:
        """Do one step after the other; return what each gives, or the status it fails with."""

        async def do() -> list[Any]:
            door = self.open(most)
            try:
                return [await self._do(door, name, given) for name, given in steps]
            finally:
                await close(door)

        found: list[Any] = run(do())
        return found

    async def _do(self, door: Door, name: str, given: Mapping[str, Any]) -> Any:
        try:
            return await STEPS[name](self.work(door), given)
        except Failure as failure:
            return failure.status


async def close(door: Door) -> None:
    if isinstance(door, DiskStorage):
        door.close()
    elif isinstance(door, BucketStorage):
        await door.close()


@pytest.fixture(params=["disk", "bucket", "memory"])
def steps(request: pytest.FixtureRequest, tmp_path: Path) -> Steps:
    """The steps on each kind of storage."""
    if request.param == "disk":
        return Steps(lambda most: DiskStorage(tmp_path / "files", most))
    if request.param == "memory":
        memory = KeptStorage()
        return Steps(lambda _: memory)
    s3: Storage = request.getfixturevalue("storage")
    bucket = bucket_of(s3, tmp_path)
    return Steps(lambda most: BucketStorage(bucket, most))


def bucket_of(s3: Storage, box: Path) -> Bucket:
    prefix = sha256(str(box).encode()).hexdigest()[:12]
    return Bucket(s3.url, "files", REGION, s3.key_id, s3.secret, prefix)


@pytest.fixture
def disk(tmp_path: Path) -> Steps:
    return Steps(lambda most: DiskStorage(tmp_path / "files", most))


def save(path: str, content: Any = "hello", **more: Any) -> tuple[str, dict[str, Any]]:
    return "saveFile", {"path": path, "content": content, **more}


def read(path: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "readFile", {"path": path, **more}


def listed(directory: str = "", *, recursive: bool = False) -> tuple[str, dict[str, Any]]:
    return "listFiles", {"directory": directory, "recursive": recursive}


# ---- what the steps do, wherever the files are
def test_a_file_is_kept_read_listed_and_deleted(steps: Steps) -> None:
    exists = ("fileExists", {"path": "notes/a.txt"})
    deleting = ("deleteFile", {"path": "notes/a.txt"})
    found = steps.each(
        exists, save("notes/a.txt", "häé"), exists, read("notes/a.txt"), deleting, deleting,
        exists, read("notes/a.txt"), listed("notes"),
    )  # fmt: skip
    one = {"path": "notes/a.txt"}
    assert found == [False, {**one, "size": 5}, True, "häé", one, one, False, 404, []]


def test_lists_show_files_and_folders_by_path(steps: Steps) -> None:
    *_, top, deep, inner, none = steps.each(
        save("b.txt"), save("a/1", ""), save("a/deep/2", "xx"), listed(),
        listed(recursive=True), listed("a"), listed("nowhere", recursive=True),
    )  # fmt: skip
    assert [(one["path"], one["isDirectory"]) for one in top] == [("a", True), ("b.txt", False)]
    assert [one["path"] for one in deep] == ["a", "a/1", "a/deep", "a/deep/2", "b.txt"]
    assert inner[0] == {"path": "a/1", "name": "1", "size": 0, "isDirectory": False}
    assert [one["name"] for one in inner] == ["1", "deep"]
    assert none == []


@pytest.mark.parametrize("path", HARMLESS)
def test_what_only_looks_odd_is_a_name_like_any_other(steps: Steps, path: str) -> None:
    kept, content, found = steps.each(save(path), read(path), listed(recursive=True))
    assert content == "hello"
    assert kept["path"] in {one["path"] for one in found}


def test_a_name_is_the_same_however_its_letters_are_composed(steps: Steps) -> None:
    kept, content = steps.each(save("caf\u0065\u0301"), read("caf\u00e9"))
    assert (kept["path"], content) == ("caf\u00e9", "hello")


def test_each_encoding_takes_and_gives_what_it_says(steps: Steps) -> None:
    found = steps.each(
        save("a", "AP8", encoding="base64"), read("a", encoding="buffer"),
        read("a", encoding="base64"), read("a", encoding="binary"), read("a"),
        save("b", "\xff\x00", encoding="binary"), read("b", encoding="buffer"),
        save("c", b"\x00\xff", encoding="buffer"), read("c", encoding="base64"),
    )  # fmt: skip
    assert [one for one in found if type(one) is not dict] == [
        b"\x00\xff", "AP8=", "\x00\xff", 400, b"\xff\x00", "AP8=",
    ]  # fmt: skip


NOT_SO = [
    ("!!", "base64"), ("€", "binary"), ("x", "buffer"), ("\ud800", "utf8"), ("A", "base64"),
    (7, "utf8"), ("x", "utf9"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "encoding"), NOT_SO)
def test_content_that_is_not_in_its_encoding_is_refused(content: Any, encoding: str) -> None:
    with pytest.raises(Thrown) as found:
        to_bytes(content, encoding)
    assert found.value.status == 400


def test_base64_of_either_alphabet_is_read() -> None:
    assert to_bytes("-_ -_\n", "base64") == to_bytes("+/+/", "base64") == b"\xfb\xff\xbf"
    assert from_bytes(b"\xfb\xff\xbf", "base64") == "+/+/"


def test_a_file_of_the_run_is_kept_and_stays_when_the_run_has_ended(steps: Steps) -> None:
    run(steps.folder.write("up", b"x" * 300_000))
    kept, missing, content = steps.each(
        save("photos/1.jpg", {"path": "up", "size": 1}), save("b", {"path": "gone"}),
        read("photos/1.jpg"),
    )  # fmt: skip
    assert (kept["size"], missing, len(content)) == (300_000, 500, 300_000)


def test_a_full_store_takes_no_more_and_says_so(steps: Steps) -> None:
    if isinstance(steps.open(ENOUGH), KeptStorage):
        return  # a test has no quota
    found = steps.each(
        save("a", "x" * 60), save("b", "x" * 60), save("a", "x" * 100),
        ("deleteFile", {"path": "a"}), save("b", "x" * 60), save("c"), save("d"),
        most=StoredSize(100, 2),
    )  # fmt: skip
    assert [one for one in found if type(one) is int] == [507, 507]
    with pytest.raises(Thrown) as failed:
        run(_save_once(steps, StoredSize(3, 5)))
    assert failed.value.code == "storageFull"


async def _save_once(steps: Steps, most: StoredSize) -> None:
    door = steps.open(most)
    try:
        await door.save(("storage",), ("z",), b"four")
    finally:
        await close(door)


def test_there_are_twenty_two_hostile_paths() -> None:
    assert len({*HOSTILE}) >= 22


@pytest.mark.parametrize("path", HOSTILE)
def test_a_path_that_leads_elsewhere_is_refused_before_anything_is_touched(
    steps: Steps, path: str
) -> None:
    every = [save(path), read(path), ("deleteFile", {"path": path}), ("fileExists", {"path": path})]
    assert steps.each(*every) == [400] * 4
    if path not in {"", ".", "notes/"}:
        assert steps.each(listed(path)) == [400]


def test_an_upload_is_kept_and_answered_with_whole_and_in_parts(
    steps: Steps, tmp_path: Path
) -> None:
    door, data = steps.open(ENOUGH), bytes(range(256)) * 8_192  # two megabytes
    one = Asked(tmp_path, "localStorage", "", UPLOAD, env={}, more=FILES, storage=door)
    reply = one.send(data, "image/png")
    run(close(door))
    assert (reply.status, reply.body == data) == (200, True)
    function = "steps:\n  - return: { file: in/f, from: localStorage, contentType: image/png }\n"
    part = asked(steps, tmp_path, function, {"range": "bytes=1000001-"})
    assert (part.status, part.body == data[1_000_001:]) == (206, True)
    assert (part.headers["content-type"], part.headers["accept-ranges"]) == ("image/png", "bytes")


def test_parts_of_a_kept_file_are_answered(steps: Steps, tmp_path: Path) -> None:
    steps.each(save("a.txt", "0123456789"))
    function = "steps:\n  - return: { file: a.txt, from: localStorage }\n"
    tags = set()
    for headers, expected in (
        ({}, (200, b"0123456789")), ({"range": "bytes=2-4"}, (206, b"234")),
        ({"range": "bytes=99-"}, (416, b"")),
    ):  # fmt: skip
        reply = asked(steps, tmp_path, function, headers)
        tags.add(reply.headers["etag"])
        assert (reply.status, reply.body) == expected
    (tag,) = tags
    assert asked(steps, tmp_path, function, {"if-none-match": tag}).status == 304
    steps.each(save("a.txt", "other"))
    assert asked(steps, tmp_path, function, {"if-none-match": tag}).body == b"other"


def test_a_file_that_is_not_kept_is_not_found(steps: Steps, tmp_path: Path) -> None:
    function = "steps:\n  - return: { file: no.txt, from: localStorage }\n"
    assert asked(steps, tmp_path, function, {}).status == 404


def asked(steps: Steps, box: Path, function: str, headers: Mapping[str, str]) -> Any:
    """Ask by GET."""
    door = steps.open(ENOUGH)
    one = Asked(box, "localStorage", "", function, env={}, storage=door, method="GET")
    try:
        return one.ask(headers=headers)
    finally:
        run(close(door))


# ---- the disk
def test_nothing_outside_is_touched_whatever_links_there_are(disk: Steps, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("SECRET")
    disk.each(save("a"))
    root = tmp_path / "files" / "storage"
    (root / "link").symlink_to(tmp_path)
    (root / "direct").symlink_to(secret)
    os.mkfifo(root / "pipe")
    found = disk.each(
        read("link/secret"), read("direct"), save("link/x"), read("pipe"),
        ("fileExists", {"path": "direct"}), ("deleteFile", {"path": "link/secret"}),
        listed(recursive=True), save("direct", "mine"), read("direct"),
    )  # fmt: skip
    assert found[:5] == [404, 404, 400, 404, False]
    assert [one["path"] for one in found[6]] == ["a"]
    assert found[8] == "mine"
    assert (secret.read_text(), not (tmp_path / "x").exists()) == ("SECRET", True)


def test_a_folder_that_becomes_a_link_leads_nowhere(disk: Steps, tmp_path: Path) -> None:
    secret, root = tmp_path / "secret", tmp_path / "files" / "storage"
    secret.write_text("SECRET")
    disk.each(save("race/secret", "mine"))
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            with suppress(OSError):  # a save may make the folder anew meanwhile
                (root / "race").rename(root / "aside")
            with suppress(OSError):
                (root / "race").symlink_to(tmp_path)
                (root / "race").unlink()
            with suppress(OSError):
                (root / "aside").rename(root / "race")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        found = [one for _ in range(10) for one in disk.each(*[save("race/secret", "STOLEN")] * 20)]
    finally:
        ended.set()
        thread.join()
    assert secret.read_text() == "SECRET"
    assert {one if type(one) is int else 200 for one in found} <= {200, 400, 503}


def test_no_reader_sees_half_a_file(disk: Steps) -> None:
    big, ended, torn = ("A" * 300_000, "B" * 300_000), threading.Event(), list[str]()
    disk.each(save("t", big[0]))
    reads = [0]

    def look() -> None:
        while not ended.is_set():
            torn.extend(one for one in disk.each(*[read("t")] * 10) if len(set(one)) != 1)
            reads[0] += 10

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        saves = 0
        while saves < 100 or reads[0] < 400:
            disk.each(*(save("t", big[at % 2]) for at in range(100)))
            saves += 100
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert torn == []


def test_processes_count_together_and_who_is_alone_counts_anew(tmp_path: Path) -> None:
    async def do() -> None:
        root, base = tmp_path / "files", ("storage",)
        one, other = DiskStorage(root, StoredSize(100, 9)), DiskStorage(root, StoredSize(100, 9))
        await one.save(base, ("a",), b"x" * 60)
        with pytest.raises(Thrown, match="at most 100 bytes"):
            await other.save(base, ("b",), b"x" * 60)
        await one.delete(base, ("a",))
        await other.save(base, ("b",), b"x" * 60)
        one.close()
        other.close()
        (root / "storage" / "by-hand").write_bytes(b"x" * 39)
        (root / "storage" / ".bbops-new-0").write_bytes(b"left by a save that was killed")
        again = DiskStorage(root, StoredSize(100, 9))
        with pytest.raises(Thrown):
            await again.save(base, ("c",), b"xx")
        await again.save(base, ("c",), b"x")
        assert not (root / "storage" / ".bbops-new-0").exists()
        again.close()

    run(do())


def test_a_file_and_a_folder_do_not_have_one_name(disk: Steps) -> None:
    assert disk.each(save("a/b"), save("a"), save("a/b/c"))[1:] == [400, 400]


def test_folders_that_are_empty_are_gone(disk: Steps, tmp_path: Path) -> None:
    disk.each(save("a/b/c"), save("a/d"), ("deleteFile", {"path": "a/b/c"}))
    assert not (tmp_path / "files" / "storage" / "a" / "b").exists()
    assert disk.each(read("a/d")) == ["hello"]


def test_a_full_disk_is_told_and_leaves_what_was_there(disk: Steps, tmp_path: Path) -> None:
    disk.each(save("a", "before"))
    folder = tmp_path / "files" / "storage"
    folder.chmod(0o500)
    try:
        found = disk.each(save("a", "after"), read("a"))
    finally:
        folder.chmod(0o700)
    if os.geteuid() != 0:  # who may write everywhere
        assert found == [503, "before"]
    assert len(list(folder.iterdir())) == 1


def test_in_a_project_git_leaves_the_folder_out(tmp_path: Path) -> None:
    async def do() -> None:
        door = DiskStorage(tmp_path, ENOUGH, in_project=True)
        await door.save(("storage", "x"), ("a",), b"1")
        door.close()

    run(do())
    assert (tmp_path / "storage" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / "storage" / "x" / "a").read_bytes() == b"1"


@pytest.mark.parametrize("base", ["..", "/srv", "", ".", ".git/x", "a/../..", "C:\\x", ".bbops"])
def test_a_base_directory_is_a_folder_of_its_own(disk: Steps, base: str) -> None:
    with pytest.raises(ValueError, match=r"base directory|path"):
        read_base(base)
    if base:
        with pytest.raises(AddonFailure, match="'baseDirectory' cannot be used"):
            run(cast("Any", STEPS["fileExists"](disk.work(KeptStorage(), base), {"path": "a"})))


def test_base_directories_do_not_see_each_other(tmp_path: Path) -> None:
    memory = KeptStorage()
    steps = Steps(lambda _: memory)
    made: list[Awaitable[Any]] = [
        STEPS["saveFile"](steps.work(memory, "./one"), {"path": "a", "content": "1"}),
        STEPS["listFiles"](steps.work(memory, "two"), {}),
    ]
    assert [run(cast("Any", one)) for one in made][1] == []


def test_a_run_without_a_folder_has_no_files() -> None:
    work = replace(Steps(lambda _: KeptStorage()).work(KeptStorage()), folder=None)
    with pytest.raises(FlowError, match="this run has no files"):
        run(cast("Any", STEPS["saveFile"](work, {"path": "a", "content": {"path": "x"}})))
