"""At the server: YAML that nothing runs is refused if it is new, and kept if it was there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bbops.source.tree import MemoryTree
from bbops_server.publish.build.build_input import BuildInput
from tests.conftest import sample
from tests.support.proposing import Asking, propose, wait_for_tests, world
from tests.support.pushing import World, make_repository
from tests.support.served import Served, git
from tests.support.small_project import hello

pytestmark = pytest.mark.long

__all__ = ["world"]
TEXT = "title: Sales\nfunction: hello\n"
WITHOUT = {"reports/sales.yaml": TEXT}
TOLD = "reports/sales.yaml:1:1: error: "


def test_a_push_that_adds_it_is_refused_with_its_line(world: World) -> None:
    clone = world.clone()
    clone.commit(world.next_version() | WITHOUT)
    before, done = world.tip(), clone.push()
    assert (done.code, world.tip()) == (1, before)
    assert TOLD in done.text


def test_a_draft_is_taken_and_told_and_its_proposal_cannot_be_merged(world: World) -> None:
    clone = world.clone()
    clone.commit(world.next_version() | WITHOUT)
    done = clone.push("origin", "HEAD:refs/heads/later")
    assert done.code == 0
    assert TOLD in done.text
    number, owner = propose(clone, "later"), Asking(world, "owner")
    judged = owner.get(number)
    assert CODE in {one["code"] for one in judged["diagnostics"]}
    assert owner.merge(number).status_code == 409


def test_a_proposal_without_it_is_as_before(world: World) -> None:
    clone = world.clone()
    clone.commit(world.next_version())
    number, owner = propose(clone, "fine"), Asking(world, "owner")
    wait_for_tests(owner, number)
    assert owner.merge(number).status_code == 200


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "shop", bare=True)


def test_a_project_that_had_it_before_an_upgrade_publishes_on(shop: Path, tmp_path: Path) -> None:
    state, work = tmp_path / "state", tmp_path / "shop.work"
    with Served(shop, tmp_path / "home", "--state", str(state)) as served:
        served.live()
    live = pushed(work, shop, WITHOUT)
    as_if_live(state, live)  # as a version has left it that said nothing of them
    with Served(shop, tmp_path / "home", "--state", str(state)) as served:
        assert served.live_of(live)
        kept = pushed(work, shop, hello(2))
        told = served.live()
        assert told["release"] == kept[:12]
        severities = {one["severity"] for one in told["warnings"] if one["code"] == CODE}
        assert severities == {"warning"}
        pushed(work, shop, hello(3) | {"charts/sales.yaml": TEXT})
        stalled = served.stalled()
        assert (stalled["reason"], "charts" in stalled["message"]) == (
            "ProjectInvalid", True,
        )  # fmt: skip
        assert served.api.get("/hello").json()["version"] == 2


CODE = "unknown-folder"


def pushed(work: Path, bare: Path, changes: dict[str, str]) -> str:
    """Commit files and push them by plain git, as a mirror does."""
    for name, text in changes.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    git(work, "add", "-A")
    git(work, "commit", "-qm", "Change")
    git(work, "push", "-q", str(bare), "HEAD:main")
    return git(work, "rev-parse", "HEAD")


def as_if_live(state: Path, commit: str) -> None:
    (record,) = state.rglob("publication.json")
    told = json.loads(record.read_text())
    record.write_text(json.dumps({**told, "revision": f"main@sha1:{commit}"}))


def test_the_tests_of_what_was_taken_run_in_a_process_of_their_own() -> None:
    files = sample(functions__tell="steps:\n  - emit: { event: a.told }\n")
    handed = BuildInput.unpack(BuildInput.take(MemoryTree(files), "sqlite", ()).request(1))
    assert handed.build().project is not None
