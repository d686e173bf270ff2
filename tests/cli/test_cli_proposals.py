"""`bbops propose` and `bbops proposals` against a real server."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from bbops.interfaces.cli.proposals import command
from tests.support.patience import wait_for
from tests.support.pushing import BAD, World
from tests.support.served import git
from tests.support.small_project import FILES
from tests.support.statuses import Start, control
from tests.support.terminal import Terminal, world

pytestmark = pytest.mark.long

__all__ = ["control", "world"]


def test_a_proposal_goes_its_way_on_the_command_line(world: World) -> None:
    clone = world.clone("developer")
    git(clone.folder, "switch", "-qc", "cart")
    clone.commit(world.next_version())
    mine, others = Terminal(world, "developer", clone), Terminal(world, "maintainer", clone)
    done = mine.run("propose", "--title", "A cart", "-m", "For all of it")
    assert done.code == 0, done.text
    assert "opened proposal #1: http://" in done.text
    listed = mine.run("proposals", "list")
    assert listed.text == "#1    open    A cart  (developer@example.com)\n"
    wait_for(lambda: "it has no tests" in others.run("proposals", "show", "1").text)
    shown = others.run("proposals", "show", "1").text
    assert "For all of it\n" in shown
    assert "it can be merged" in shown
    assert mine.run("proposals", "ready", "1", "--undo").text == "proposal #1 is not ready\n"
    listed = mine.run("proposals", "list")
    assert listed.text == "#1    open    A cart  (developer@example.com, not ready)\n"
    refused = others.run("proposals", "merge", "1")
    assert (refused.code, "bbops proposals ready 1" in refused.text) == (2, True), refused.text
    assert mine.run("propose", "--ready").code == 0
    asked = mine.run("proposals", "ask", "1", "maintainer@example.com")
    assert asked.text == "review of proposal #1 requested from: maintainer@example.com\n"
    assert "review requested from: maintainer@" in others.run("proposals", "show", "1").text
    assert others.run("proposals", "comment", "1", "well").code == 0
    assert others.run("proposals", "refuse", "1", "-m", "not yet").code == 0
    refused = others.run("proposals", "merge", "1")
    assert (refused.code, "requested changes" in refused.text) == (2, True), refused.text
    assert others.run("proposals", "approve", "1").text == ("you approved: proposal #1, A cart\n")
    merged = others.run("proposals", "merge", "1")
    assert merged.code == 0, merged.text
    assert merged.text.splitlines()[1].startswith("live: ")
    assert mine.run("proposals", "list").text == "no proposal is open\n"


def test_all_of_it_speaks_json(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(world.next_version())
    mine = Terminal(world, "developer", clone)
    made = json.loads(mine.run("propose", "--topic", "as-json", "--json").text)
    number = str(made["proposal"]["number"])
    assert made["proposal"]["topic"] == "as-json"
    assert json.loads(mine.run("proposals", "list", "--json").text)[0]["number"] == int(number)
    assert json.loads(mine.run("proposals", "show", number, "--json").text)["obstacles"] == []
    assert json.loads(mine.run("proposals", "close", number, "--json").text)["state"] == "closed"


def test_what_is_refused_says_why(world: World) -> None:
    clone = world.clone("developer")
    clone.commit(BAD)
    mine = Terminal(world, "developer", clone)
    done = mine.run("propose")
    assert (done.code, "needs a topic" in done.text) == (2, True)
    assert "does not work yet" in mine.run("propose", "--topic", "bad").text
    git(clone.folder, "commit", "-q", "--amend", "-m", "Another past")
    again = mine.run("propose", "--topic", "bad")
    assert (again.code, "holds commits that this does not" in again.text) == (2, True), again.text
    assert mine.run("propose", "--topic", "bad", "--force").code == 0
    viewer = Terminal(world, "viewer", clone).run("propose", "--topic", "viewed")
    assert (viewer.code, "the role required is 'developer'" in viewer.text) == (2, True), (
        viewer.text
    )
    missing = mine.run("proposals", "show", "99")
    assert (missing.code, "has no proposal #99" in missing.text) == (2, True), missing.text


def test_the_server_proposes_to_go_back(world: World) -> None:
    clone = world.clone("maintainer")
    clone.commit(world.next_version())
    assert clone.push().code == 0
    mine = Terminal(world, "developer", clone)
    done = mine.run("rollback", "v1", "--propose")
    assert done.code == 0, done.text
    assert re.match(r"proposal #\d+ rolls back to v1: http://.*/proposals/\d+\n", done.text)
    both = mine.run("rollback", "v1", "--propose", "--now")
    assert (both.code, "'--now' and '--propose' exclude each other" in both.text) == (2, True), (
        both.text
    )


def test_the_commit_says_that_it_is_to_be_proposed(world: World) -> None:
    clone, rules = world.clone("maintainer"), "review: { main: proposals }\n"
    clone.commit({"project.yaml": FILES["project.yaml"] + rules})
    clone.git("fetch", "-q", "--tags")
    done = Terminal(world, "maintainer", clone).run("rollback", "v1", "--only", "project.yaml")
    assert "; propose it: 'bbops propose --topic rollback'" in done.text


DAY = "2026-01-02T03:04:05Z"


def test_what_people_write_neither_acts_on_a_terminal_nor_looks_like_ours(control: Start) -> None:
    review = {"who": "eve", "at": DAY, "verdict": "commented", "text": "x\nada approved \x1b[8m",
              "head": "a" * 40, "plan": ""}  # fmt: skip
    proposal = {
        "number": 1, "title": "One\nTwo", "description": "\x1b]52;c;x\nit can be merged",
        "author": "eve", "target": "main", "topic": "t", "state": "open", "head": "a" * 40,
        "created": DAY, "changed": DAY, "merged": "", "reviews": [review],
    }  # fmt: skip
    merge_status = {
        "proposal": proposal, "page": "http://x/1", "preview": "", "summary": "", "digest": "",
        "obstacles": ["no"], "conflicts": [], "approvals": 0, "approved": [], "outdated": [],
        "diagnostics": [], "plan": None, "text": "",
    }  # fmt: skip
    url = control({"GET /api/projects/shop/proposals/1": (200, merge_status)})
    given = ["show", "1", "--project", "shop", "--server", url]
    shown = CliRunner().invoke(command, given).stdout
    assert "\x1b" not in shown
    lines = shown.splitlines()
    assert lines[0] == "#1 One\\nTwo"
    assert {"    it can be merged", "    ada approved \\x1b[8m"} <= {*lines}
