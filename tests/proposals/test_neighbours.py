"""A proposal that changes several projects of a repository shows each of them, and tests each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bbops_server.accounts.rules import Role
from tests.support.patience import wait_for
from tests.support.proposing import Asking, propose
from tests.support.pushing import World
from tests.support.small_project import FILES, hello

pytestmark = pytest.mark.long

GATED = f"{FILES['project.yaml']}tests: {{ gate: true }}\n"
CASE = (
    "endpoint: hello\ncases:\n  - name: stays small\n    expect: { check: result.version < 100 }\n"
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """`developer` reads both projects, `viewer` only `left`; the tests of `right` are a gate."""
    with World(tmp_path_factory.mktemp("world")) as world:
        world.book.members.set_role(world.people["developer"], Role.DEVELOPER, "right")
        clone = world.clone("owner", "left")
        (clone.folder / "right/tests").mkdir()
        (clone.folder / "right/tests/hello.yaml").write_text(CASE)
        (clone.folder / "right/project.yaml").write_text(GATED)
        clone.git("add", "-A")
        clone.git("commit", "-qm", "Test right")
        assert "live: " in clone.push().text
        yield world


def propose_both(world: World, number: int, **more: str) -> int:
    """Propose to `left` that `/hello` of both projects answers a number, and `more` of `right`."""
    clone = world.clone("owner", "left")
    text = hello(number)["functions/hello.yaml"]
    files = {f"right/functions/{name}.yaml": each for name, each in more.items()}
    files |= {f"{folder}/functions/hello.yaml": text for folder in ("left", "right")}
    for path, content in files.items():
        (clone.folder / path).write_text(content)
    clone.git("add", "-A")
    clone.git("commit", "-qm", f"Change both to {number}")
    return propose(clone, f"both-{number}")


def wait_for_all(asking: Asking, number: int) -> dict[str, Any]:
    """Return a proposal once the tests of both projects are over."""

    def find() -> Any:
        found = asking.get(number)
        states = {one["tests"]["state"] for one in (found, *found["others"])}
        return found if "running" not in states else None

    told: dict[str, Any] = wait_for(find)
    return told


def test_the_plan_tests_and_files_of_each_project_are_shown(world: World) -> None:
    number = propose_both(world, 21)
    found = wait_for_all(Asking(world, "developer", "left"), number)
    (right,) = found["others"]
    assert (right["project"], right["folder"], found["hidden"]) == ("right", "right", 0)
    assert [one["endpoint"] for one in right["plan"]["plan"]["routes"]] == ["hello"]
    assert "GET /right/hello" in right["text"] or "GET /hello" in right["text"]
    assert right["tests"]["passed"] == 1
    for folder in ("left", "right"):
        assert f"+++ b/{folder}/functions/hello.yaml" in found["diff"]
    page = show_page(world, "developer", number)
    assert "Project right of this repository" in page
    assert "right/functions/hello.yaml" in page
    token = Asking(world, "developer", "left").headers["authorization"].partition(" ")[2]
    shown = world.bbops(
        "proposals", "show", str(number), "--diff", "--project", "left", env={"BBOPS_TOKEN": token}
    ).stdout
    assert "\nproject 'right' of this repository:\n" in shown
    assert "+++ b/right/functions/hello.yaml" in shown


def test_who_may_not_read_a_project_sees_nothing_of_it(world: World) -> None:
    number = propose_both(world, 22, bad="steps:\n  - nothing: { secret: 1 }\n")
    found = Asking(world, "developer", "left").get(number)
    assert found["others"][0]["diagnostics"][0]["file"] == "functions/bad.yaml"
    answer = Asking(world, "viewer", "left").ask(f"/{number}")
    assert (answer.json()["others"], answer.json()["hidden"]) == ([], 1)
    assert "+++ b/left/functions/hello.yaml" in answer.json()["diff"]
    (obstacle,) = answer.json()["obstacles"]
    assert obstacle.startswith("it changes another project of this repository that you cannot")
    for text in (answer.text, show_page(world, "viewer", number)):
        assert "right" not in text.replace("bright", "").replace("#i-right", "")


def test_files_that_conflict_are_named_to_who_may_read_them(world: World) -> None:
    clone = world.clone("owner", "left")
    (clone.folder / "right/functions/slow.yaml").write_text("steps:\n  - return: { value: 1 }\n")
    clone.git("commit", "-qam", "One way")
    number = propose(clone, "conflict")
    clone.git("reset", "-q", "--hard", "origin/main")
    (clone.folder / "right/functions/slow.yaml").write_text("steps:\n  - return: { value: 2 }\n")
    clone.git("commit", "-qam", "Another way")
    assert "live: " in clone.push().text
    seen = Asking(world, "developer", "left").get(number)
    assert seen["conflicts"] == ["right/functions/slow.yaml"]
    hidden = Asking(world, "viewer", "left").ask(f"/{number}")
    assert (hidden.json()["conflicts"], len(hidden.json()["obstacles"])) == ([], 1)
    assert "right" not in hidden.text


def test_tests_of_another_project_that_are_its_gate_keep_a_merge_away(world: World) -> None:
    number, owner = propose_both(world, 121), Asking(world, "owner", "left")
    before = world.version("right")
    merged = owner.merge(number)
    assert merged.status_code == 409
    assert "project 'right' of this repository: its tests fail: tests/hello.yaml:4" in merged.text
    assert wait_for_all(owner, number)["tests"]["state"] == "passed"
    assert world.version("right") == before


def test_what_was_merged_shows_each_project_as_before(world: World) -> None:
    number, owner = propose_both(world, 23), Asking(world, "owner", "left")
    before = wait_for_all(owner, number)
    assert owner.merge(number).json()["is_live"]
    after = owner.get(number)
    assert (after["others"], after["diff"]) == (before["others"], before["diff"])
    assert Asking(world, "viewer", "left").get(number)["hidden"] == 1


def show_page(world: World, name: str, number: int) -> str:
    """Return the page of a proposal to `left` as somebody sees it."""
    key = world.book.sessions.begin(world.people[name], user_agent="", address="")
    url = f"{world.serving['control_url']}/projects/left/proposals/{number}"
    answer = httpx.get(url, cookies={"bbops": key}, headers={"accept": "text/html"}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.text
