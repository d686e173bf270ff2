"""localStorage on a real server: kept over a restart, apart in drafts and `dev`, and backed up."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bbops.base.errors import ServerError
from bbops_server.process.storage.archive import pack, unpacked
from tests.support.database_commands import Commands
from tests.support.drafting import answered
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.served import Served, git
from tests.support.small_project import endpoint, write_project

pytestmark = pytest.mark.long

PROJECT = {
    "addons/localStorage.yaml": "enabled: true\n",
    "functions/keep.yaml": (
        'steps:\n  - localStorage.saveFile: { path: "in/${ input.photo.name }",'
        ' content: "${ input.photo }" }\n    as: kept\n'
        "  - return: { status: 201, value: '${ vars.kept }' }\n"
    ),
    "functions/show.yaml": (
        "params: { name: string }\nsteps:\n"
        '  - return: { file: "in/${ params.name }", from: localStorage }\n'
    ),
    "endpoints/keep.yaml": endpoint("POST", "/photos", "keep")
    + "files: { photo: { maxSize: 5MB } }\n",
    "endpoints/show.yaml": endpoint("GET", "/photos/:name", "show"),
}
PHOTO = bytes(range(256)) * 5_000


def keep(client: httpx.Client, name: str, data: bytes) -> httpx.Response:
    return client.post("photos", files={"photo": (name, data, "image/png")})


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a repository, and a file of one project beside it."""
    box = tmp_path_factory.mktemp("box")
    write_project(box / "small", PROJECT)
    git(box / "small", "init", "-q", "-b", "main")
    git(box / "small", "add", "-A")
    git(box / "small", "commit", "-qm", "Start")
    (box / "server.yaml").write_text("projects: { small: { repository: small } }\n")
    return box


@pytest.fixture(scope="module")
def kept(box: Path) -> Iterator[Served]:
    with Served(box, box / "home", "--workers", "2") as server:
        server.live()
        assert keep(server.api, "one.png", PHOTO).status_code == 201
        yield server


def test_an_upload_is_kept_and_answered_with_in_every_process(kept: Served, box: Path) -> None:
    (at,) = (box / ".bbops/state/projects/small/files/storage/in").iterdir()
    assert (at.name, at.stat().st_mode & 0o777) == ("one.png", 0o600)
    for _ in range(8):  # on connections of their own, so that both processes answer
        with httpx.Client(base_url=kept.serving["url"], timeout=PATIENCE_SECONDS) as client:
            reply = client.get("photos/one.png", headers={"range": "bytes=256-"})
        assert (reply.status_code, reply.content == PHOTO[256:]) == (206, True)
    tag = kept.api.get("photos/one.png").headers["etag"]
    same = kept.api.get("photos/one.png", headers={"if-none-match": tag})
    assert (same.status_code, same.content) == (304, b"")
    assert kept.api.get("photos/two.png").status_code == 404
    assert kept.api.get("photos/..%2f..%2fdata.sqlite").status_code == 400


def test_a_draft_has_files_of_its_own_which_go_with_it(kept: Served, box: Path) -> None:
    repository = box / "small"
    git(repository, "checkout", "-qb", "topic")
    (repository / "functions/hello.yaml").write_text("steps:\n  - return: { value: topic }\n")
    git(repository, "commit", "-qam", "Say topic")
    git(repository, "checkout", "-q", "main")
    wait_for(lambda: kept.control.get("/api/projects/small/drafts").json())
    made = json.loads(kept.bbops("drafts", "token", "topic", "--json").stdout)
    with httpx.Client(
        base_url=made["url"], headers={"x-draft-token": made["token"]}, timeout=PATIENCE_SECONDS
    ) as draft:
        assert answered(lambda: draft.get("photos/one.png")).status_code == 404
        assert keep(draft, "two.png", b"of the draft").status_code == 201
        assert draft.get("photos/two.png").content == b"of the draft"
    assert kept.api.get("photos/two.png").status_code == 404
    (folder,) = [one.parents[2] for one in (box / ".bbops/state").rglob("two.png")]
    git(repository, "branch", "-qD", "topic")
    wait_for(lambda: not folder.exists())


def test_a_backup_has_the_files_and_a_restore_puts_them_back(kept: Served, box: Path) -> None:
    commands = Commands(box, box / "commands")
    backup = commands.run("backup", box / "monday.sqlite", "--project", "small", "--json")
    told = json.loads(backup.stdout)["files"]
    assert (told["archive"], told["files"]) == (str(box / "monday.files.tar"), 1), backup.stderr
    with tarfile.open(box / "monday.files.tar") as tar:
        assert tar.getnames() == ["storage/in/one.png"]
    assert keep(kept.api, "one.png", b"changed since").status_code == 201
    assert keep(kept.api, "late.png", b"new").status_code == 201
    kept.stop()
    restored = commands.run("restore", box / "monday.sqlite", "--project", "small")
    assert "1 file, 1.3 MB, from" in restored.stdout, restored.stderr
    (previous,) = (box / ".bbops/state/projects/small").glob("files.before-*")
    assert (previous / "storage/in/late.png").read_bytes() == b"new"
    with Served(box, box / "home") as again:
        again.live()
        assert again.api.get("photos/one.png").content == PHOTO
        assert again.api.get("photos/late.png").status_code == 404


def test_dev_keeps_files_in_the_folder_and_nothing_else_sees_them(tmp_path: Path) -> None:
    class Dev(Served):
        verb = "dev"

    project = write_project(tmp_path / "small", PROJECT)
    git(project, "init", "-q")
    with Dev(project, tmp_path / "home") as dev:
        dev.live()
        assert keep(dev.api, "project.yaml", b"bbops: 1").status_code == 201
        assert dev.api.get("photos/project.yaml").content == b"bbops: 1"
        assert (project / "storage/in/project.yaml").read_bytes() == b"bbops: 1"
        assert "storage" not in git(project, "status", "--short", "-uall")
        (tmp_path / "saved").write_text("steps:\n  - return: { value: changed }\n")
        (tmp_path / "saved").replace(project / "functions/hello.yaml")
        while dev.events.get(timeout=60)["event"] != "live":  # requests are told, too
            pass
        assert dev.api.get("hello").json() == "changed"
    assert dev.bbops("validate", str(project)).returncode == 0


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", ".bbops-usage"])
def test_an_archive_that_leads_elsewhere_changes_nothing(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        one = tarfile.TarInfo(name)
        one.size = 1
        tar.addfile(one, io.BytesIO(b"x"))
    root = tmp_path / "files"
    with pytest.raises(ServerError, match="is damaged"), unpacked(tmp_path / "bad.tar", root):
        pass
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bad.tar"]


def test_a_link_in_an_archive_and_half_an_archive_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "link.tar", "w") as tar:
        one = tarfile.TarInfo("a")
        one.type, one.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(one)
    (tmp_path / "files" / "storage").mkdir(parents=True)
    (tmp_path / "files" / "storage" / "a").write_bytes(b"x" * 50_000)
    assert pack(tmp_path / "files", tmp_path / "good.tar").files == 1
    (tmp_path / "half.tar").write_bytes((tmp_path / "good.tar").read_bytes()[:20_000])
    for bad in ("link.tar", "half.tar"):
        with pytest.raises(ServerError), unpacked(tmp_path / bad, tmp_path / "new" / "files"):
            pass
    assert list((tmp_path / "new").iterdir()) == []
