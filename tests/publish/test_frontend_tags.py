"""Frontends that were tagged elsewhere: which tags a mirror takes, and what never gets in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bbops.compiler.check._files import MOST_FILES
from bbops.source.git.address import Address
from bbops.source.git.mirror import Mirror
from bbops.source.git.numbered_tags import LARGEST_BYTES, Taken
from bbops.source.git.series import TAG, find_refs
from tests.support.patience import wait_for
from tests.support.served import Served, git
from tests.support.small_project import FILES, write_project

pytestmark = pytest.mark.long

FRONTEND = FILES["project.yaml"] + "frontend: {}\n"
RELEASE = "Build\n\nRelease: 1"


class Origin:
    """A repository whose owner tags what he likes."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder = folder
        write_project(folder, files)
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "Start")

    @property
    def address(self) -> str:
        return f"file://{self.folder}"

    def store(self, text: str) -> str:
        """Keep a file's content; return its id."""
        return self.feed("hash-object", "-w", "--stdin", given=text)

    def build(self, text: str) -> str:
        """Make a commit of one page alone; return its id."""
        row = f"100644 blob {self.store(text)}\tindex.html\n"
        return git(self.folder, "commit-tree", "-m", "Build", self.feed("mktree", given=row))

    def tag(self, name: str, text: str, message: str = RELEASE) -> None:
        """Tag a frontend as a server does."""
        git(self.folder, "tag", "-f", "-a", "-m", message, name, self.build(text))

    def feed(self, *arguments: str, given: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, input=given, text=True, capture_output=True,
            check=True,
        )  # fmt: skip
        return done.stdout.strip()


class Copy:
    """A mirror, and what it has."""

    def __init__(self, folder: Path, origin: Origin) -> None:
        address = Address.parse(origin.address)
        assert address is not None
        self.folder, self.mirror = folder, Mirror(folder, address)

    def look(self, project: str = "") -> Taken:
        return self.mirror.update("main", project).frontends

    def refs(self) -> list[str]:
        return git(self.folder, "for-each-ref", "--format=%(refname)").split()

    def page(self, tag: str) -> str:
        return git(self.folder, "show", f"{tag}:index.html")


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "origin", {"project.yaml": FRONTEND})


@pytest.fixture
def copy(origin: Origin, tmp_path: Path) -> Copy:
    copy = Copy(tmp_path / "mirror", origin)
    assert copy.look() == Taken()
    return copy


def test_each_look_brings_new_frontends_and_no_other_tag(origin: Origin, copy: Copy) -> None:
    origin.tag("frontend/v1", "one")
    for name in ("frontend/next", "frontend/v1-rc", "frontend/v01", "other/frontend/v7", "v9"):
        origin.tag(name, "other")
    git(origin.folder, "branch", "refs/tags/frontend/v8")
    taken = copy.look()
    assert taken.newest.startswith("frontend/v1 ")
    assert copy.refs() == ["refs/heads/main", "refs/tags/frontend/v1"]
    origin.tag("frontend/v10", "ten")
    origin.tag("frontend/v9", "nine")
    assert copy.look().newest.startswith("frontend/v10 ")
    assert copy.page("frontend/v9") == "nine"
    assert copy.look() == copy.look()


def test_a_project_in_a_folder_takes_its_own(origin: Origin, copy: Copy) -> None:
    origin.tag("frontend/v3", "root")
    origin.tag("apps/shop/frontend/v1", "shop")
    assert copy.look("apps/shop").newest.startswith("apps/shop/frontend/v1 ")
    assert copy.refs() == ["refs/heads/main", "refs/tags/apps/shop/frontend/v1"]
    assert copy.look("a folder that no tag can name") == Taken()


def test_a_new_mirror_has_the_versions_of_its_own_project(origin: Origin, tmp_path: Path) -> None:
    for name in ("v1", "apps/shop/v2", "apps/shop/frontend/v1", "bbops/shop/v3"):
        origin.tag(name, "some")
    copy = Copy(tmp_path / "new", origin)
    copy.mirror.update("main", "apps/shop", versions=find_refs(TAG, "apps/shop"))
    assert [one for one in copy.refs() if "tags" in one] == [
        "refs/tags/apps/shop/frontend/v1", "refs/tags/apps/shop/v2", "refs/tags/bbops/shop/v3"
    ]  # fmt: skip


def test_a_tag_that_moves_is_followed_and_one_that_goes_stays(origin: Origin, copy: Copy) -> None:
    origin.tag("frontend/v1", "one")
    first = copy.look()
    origin.tag("frontend/v1", "other")
    moved = copy.look()
    assert moved.newest != first.newest
    assert copy.page("frontend/v1") == "other"
    git(origin.folder, "tag", "-d", "frontend/v1")
    origin.tag("frontend/v0", "nothing")
    copy.look()
    assert copy.page("frontend/v1") == "other"


def test_a_project_with_reviews_takes_what_was_there_before_alone(
    origin: Origin, copy: Copy
) -> None:
    origin.tag("frontend/v1", "one")
    held = copy.look()
    origin.tag("frontend/v2", "two")
    assert copy.mirror.update("main", "", has_own_frontends=True).frontends == held
    new = Copy(copy.folder.with_name("new"), origin)
    assert new.mirror.update("main", "", has_own_frontends=True).frontends.newest[:11] == (
        "frontend/v2"
    )


@pytest.mark.parametrize(("how", "told"), [
    ("light", "it is not an annotated tag, expected an annotated tag of a commit"),
    ("blob", "it is a tag of a blob, expected"),
    ("tree", "it is a tag of a tree, expected"),
    ("nested", "it is a tag of a tag, expected"),
    ("huge", "its message has "),
    ("foreign", "its message has no line 'Release: …'"),
])  # fmt: skip
def test_a_tag_that_is_no_frontend_is_told_and_changes_nothing(
    origin: Origin, copy: Copy, how: str, told: str
) -> None:
    origin.tag("frontend/v1", "one")
    good = copy.look()
    folder, blob = origin.folder, origin.store("some")
    if how == "light":
        git(folder, "tag", "frontend/v2", origin.build("two"))
    elif how == "huge":
        origin.feed("tag", "-a", "-F", "-", "frontend/v2",
                    given=f"{RELEASE}\n{'x' * LARGEST_BYTES}")  # fmt: skip
    elif how == "foreign":
        origin.tag("frontend/v2", "two", "mine")
    else:
        leads = {"blob": blob, "tree": "HEAD^{tree}", "nested": "frontend/v1"}[how]
        git(folder, "tag", "-a", "-m", RELEASE, "frontend/v2", leads)
    git(folder, "commit", "-q", "--allow-empty", "-m", "Goes on")
    looked = copy.mirror.update("main", "")
    assert looked.commit == git(folder, "rev-parse", "HEAD")
    assert looked.frontends.newest == good.newest
    assert looked.frontends.trouble.startswith(f"tag 'frontend/v2' is not published: {told}")
    assert "refs/bbops" not in str(copy.refs())
    assert copy.look() == looked.frontends
    origin.tag("frontend/v3", "three")
    assert copy.look().trouble == ""


def test_a_good_tag_that_is_moved_to_no_frontend_stays_as_it_was(
    origin: Origin, copy: Copy
) -> None:
    origin.tag("frontend/v1", "one")
    good = copy.look()
    git(origin.folder, "tag", "-f", "-a", "-m", RELEASE, "frontend/v1", origin.store("blob"))
    assert copy.look().newest == good.newest
    assert copy.page("frontend/v1") == "one"


def test_a_tag_that_git_does_not_take_keeps_no_other_away(origin: Origin, copy: Copy) -> None:
    row = f"100644 blob {origin.store('x')}\t.git\n"
    tree = origin.feed("mktree", given=row)
    crafted = git(origin.folder, "commit-tree", "-m", "Crafted", tree)
    git(origin.folder, "tag", "-a", "-m", RELEASE, "frontend/v2", crafted)
    origin.tag("frontend/v1", "one")
    assert "git fetch failed" in copy.look().trouble
    taken = copy.look()
    assert taken.newest.startswith("frontend/v1 ")
    assert taken.trouble.startswith("tag 'frontend/v2' is not published: ")
    assert "git fetch failed: object" in taken.trouble
    git(origin.folder, "tag", "-d", "frontend/v2")
    assert copy.look() == Taken(taken.newest)


# ---- served
@pytest.fixture
def served(origin: Origin, tmp_path: Path) -> Iterator[Served]:
    with Served(
        origin.folder, tmp_path / "home", "--poll", "0.3", address=origin.address
    ) as served:
        served.live()
        yield served


def test_a_tag_that_is_pushed_elsewhere_goes_live_here(origin: Origin, served: Served) -> None:
    assert served.api.get("/").status_code == 404
    origin.tag("frontend/v1", "one")
    served.live()
    assert served.api.get("/").text == "one"
    origin.tag("frontend/v3", "three")
    served.live()
    assert served.api.get("/").text == "three"
    git(origin.folder, "tag", "frontend/v4", "HEAD")
    wait_for(lambda: any(one["type"] == "FrontendRefused" for one in conditions(served)))
    told = served.condition("FrontendRefused")
    assert (told["status"], told["reason"]) == (True, "TagRefused")
    assert "tag 'frontend/v4' is not published" in told["message"]
    assert served.condition("Ready")["status"] is True
    assert "TagRefused" in served.bbops("status").stdout
    listed = served.bbops("frontend", "list").stdout
    assert [one.split()[0] for one in listed.splitlines()] == ["frontend/v3", "frontend/v1"]


def test_a_frontend_that_is_too_large_stalls_until_the_next(origin: Origin, served: Served) -> None:
    blob = origin.store("x")
    rows = "".join(f"100644 blob {blob}\t{n}.txt\n" for n in range(MOST_FILES + 1))
    large = git(origin.folder, "commit-tree", "-m", "Build", origin.feed("mktree", given=rows))
    git(origin.folder, "tag", "-a", "-m", RELEASE, "frontend/v1", large)
    stalled = served.stalled()
    assert stalled["reason"] == "ProjectInvalid"
    assert "frontend 'frontend/v1' has 10,001 files, at most 10,000" in stalled["message"]
    origin.tag("frontend/v2", "two")
    served.live()
    assert served.api.get("/").text == "two"


def test_a_project_that_is_tagged_by_mistake_is_not_shown(origin: Origin, served: Served) -> None:
    git(origin.folder, "tag", "-a", "-m", RELEASE, "frontend/v1", "HEAD")
    assert "tag 'frontend/v1' holds a project" in served.stalled()["message"]
    assert served.api.get("/project.yaml").status_code == 404


def test_a_tag_here_goes_live_at_once(origin: Origin, tmp_path: Path) -> None:
    with Served(origin.folder, tmp_path / "home") as served:
        served.live()
        origin.tag("frontend/v1", "one")
        served.live()
        assert served.api.get("/").text == "one"
        origin.tag("frontend/v1", "other")
        served.live()
        assert served.api.get("/").text == "other"


def test_a_frontend_waits_while_publications_are_frozen(origin: Origin, tmp_path: Path) -> None:
    settings = tmp_path / "own.yaml"
    settings.write_text("{}\n")
    options = ("--poll", "0.3", "--settings", str(settings))
    with Served(origin.folder, tmp_path / "home", *options, address=origin.address) as served:
        served.live()
        settings.write_text("freeze: [{ days: [mon, tue, wed, thu, fri, sat, sun] }]\n")
        served.event("applied")
        origin.tag("frontend/v1", "one")
        assert served.stalled()["reason"] == "Frozen"
        assert served.api.get("/").status_code == 404
        settings.write_text("{}\n")
        served.event("applied")
        served.live()
        assert served.api.get("/").text == "one"


def conditions(served: Served) -> list[dict[str, object]]:
    found: list[dict[str, object]] = served.status()["conditions"]
    return found
