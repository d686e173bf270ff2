"""Random publications, mistakes, ways back and kills:

what is good keeps serving, and nothing is half.

Each example is a server of its own that lives through all of it. Marker `long`.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from bbops.base.errors import ServerError
from tests.support.machines import run_machine
from tests.support.patience import wait_for
from tests.support.publishing import NAME, Content, Publishing, Victim, Way, git

SERVERS, EVENTS = int(os.environ.get("BBOPS_SERVERS", "2")), 50
MOST_DRAFTS = 3
MOMENTS = st.integers(0, 75).map(lambda number: number * 0.004)
"""Of a publication, which takes some 0.2 s."""

VICTIMS = st.sampled_from(["server", "data", "build"])
WAYS = st.sampled_from(["http", "file"])
DATES = ("1971-01-01T00:00:00Z", "2099-12-31T23:59:59Z")


class Publications(RuleBasedStateMachine):
    """What may happen to a project in a year, in a minute."""

    events = 0
    path = ""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="publishing-")
        self.at = Publishing(Path(self.folder.name), self.path)
        self.drafts: dict[str, tuple[str, bool]] = {}

    def teardown(self) -> None:
        self.at.stop()
        self.folder.cleanup()

    @invariant()
    def what_is_served_is_what_must_be(self) -> None:
        type(self).events += 1
        self.at.settle()

    # ---- commits
    def publish(self, content: Content, way: Way, when: str = "") -> None:
        """Commit on top of the newest, and push."""
        before = self.at.tip()
        self.at.follow()
        commit = self.at.commit(content, when=when)
        said = self.at.push(way)
        is_refused = way == "http" and content.is_broken
        assert said.startswith("1 " if is_refused else "0 "), said
        assert self.at.tip() == (before if is_refused else commit)

    def better(self, *columns: tuple[str, str]) -> Content:
        """Return what is live with another number, and columns more."""
        live = self.at.contents[self.at.live]
        return Content(self.at.next_number(), (*live.columns, *columns))

    @rule(way=WAYS, when=st.sampled_from(["", "", *DATES]))
    def push_a_good_commit(self, way: Way, when: str) -> None:
        self.publish(self.better(), way, when)

    @rule(way=WAYS)
    def push_a_mistake(self, way: Way) -> None:
        self.publish(replace(self.better(), is_broken=True), way)

    @rule(way=WAYS)
    def push_a_column(self, way: Way) -> None:
        self.publish(self.better((f"c{self.at.next_number()}", "")), way)

    @precondition(lambda self: self.at.contents[self.at.live].columns)
    @rule(way=WAYS, data=st.data())
    def push_another_name_of_a_column(self, way: Way, data: st.DataObject) -> None:
        self.publish(self.renamed(data), way)

    def renamed(self, data: st.DataObject) -> Content:
        """Return what is live with another name of one column."""
        columns = list(self.at.contents[self.at.live].columns)
        place = data.draw(st.integers(0, len(columns) - 1))
        columns[place] = f"c{self.at.next_number()}", columns[place][0]
        return Content(self.at.next_number(), tuple(columns))

    @precondition(lambda self: self.at.contents[self.at.live].columns)
    @rule(way=WAYS)
    def push_a_loss(self, way: Way) -> None:
        live = self.at.contents[self.at.live]
        self.publish(Content(self.at.next_number(), live.columns[1:]), way)

    @precondition(lambda self: self.at.reason() == "MigrationRefused")
    @rule()
    def approve_the_loss(self) -> None:
        self.at.approve()

    @rule(count=st.integers(2, 4))
    def push_commits_without_a_pause(self, count: int) -> None:
        for _ in range(count):
            self.publish(self.better(), "file")
            self.at.between.append(self.at.tip())

    # ---- history
    @rule(way=WAYS, back=st.integers(1, 3))
    def rewrite_history(self, way: Way, back: int) -> None:
        """Over HTTP nobody may; who can write the repository can, and it is held."""
        before = self.at.tip()
        self.at.follow()
        past = git(self.at.clone, "rev-list", "--first-parent", f"-{back + 1}", "HEAD").split()
        commit = self.at.commit(self.better(), on=past[-1])
        said = self.at.push(way, "--force")
        is_taken = way == "file" or len(past) == 1
        assert said.startswith("0 ") == is_taken, said
        assert self.at.tip() == (commit if is_taken else before)

    @precondition(lambda self: self.at.reason() == "HistoryRewritten")
    @rule()
    def accept_what_was_rewritten(self) -> None:
        tip = self.at.tip()
        self.at.remote.accept(NAME, tip)
        self.at.accepted = self.at.live, tip

    @precondition(lambda self: self.at.reason() == "HistoryRewritten")
    @rule()
    def push_the_old_history_back(self) -> None:
        self.at.push("file", "--force", what=f"{self.at.live}:refs/heads/main")

    @rule(data=st.data(), only=st.booleans())
    def roll_back(self, data: st.DataObject, only: bool) -> None:
        before, version = self.at.tip(), data.draw(st.sampled_from(self.at.versions()))
        content = self.at.restored(version, only=only)
        resources = ["functions/hello"] if only else []
        with suppress(ServerError):  # it is as it was
            self.at.remote.roll_back(NAME, version.name, resources, now=True)
        if self.at.tip() != before:
            assert self.at.follows(before, self.at.tip())
            self.at.contents[self.at.tip()] = content

    # ---- drafts
    @precondition(lambda self: len(self.drafts) < MOST_DRAFTS)
    @rule(way=WAYS, is_broken=st.booleans())
    def push_a_draft(self, way: Way, is_broken: bool) -> None:
        self.at.follow()
        branch = f"topic{self.at.next_number()}"
        text = "steps: [\n" if is_broken else "steps:\n  - return: { value: 1 }\n"
        (self.at.project / f"functions/{branch}.yaml").write_text(text)
        git(self.at.clone, "add", "-A")
        git(self.at.clone, "commit", "-qm", f"Draft {branch}")
        said = self.at.push(way, what=f"HEAD:refs/heads/{branch}")
        assert said.startswith("0 "), said
        commit = git(self.at.clone, "rev-parse", "HEAD")
        self.drafts[branch] = commit, is_broken or self.at.newest.is_broken

    @precondition(lambda self: self.drafts)
    @rule(data=st.data())
    def ask_for_a_draft(self, data: st.DataObject) -> None:
        branch = data.draw(st.sampled_from(sorted(self.drafts)))
        commit, is_broken = self.drafts[branch]
        wait_for(lambda: branch in {one.branch for one in self.at.remote.drafts(NAME)})
        made = self.at.remote.open_draft(NAME, branch, 1)
        headers = {"x-draft-token": made.token}
        reply = httpx.get(f"{made.url}hello", headers=headers, timeout=30)
        assert reply.status_code == (503 if is_broken else 200), reply.text
        assert is_broken or reply.headers["x-release"] == commit[:12]

    @precondition(lambda self: self.drafts)
    @rule(data=st.data())
    def delete_a_draft(self, data: st.DataObject) -> None:
        branch = data.draw(st.sampled_from(sorted(self.drafts)))
        said = self.at.push("http", "--delete", what=branch)
        assert said.startswith("0 "), said
        del self.drafts[branch]
        wait_for(lambda: branch not in {one.branch for one in self.at.remote.drafts(NAME)})

    @precondition(lambda self: any(not broken for _, broken in self.drafts.values()))
    @rule(data=st.data(), way=WAYS)
    def merge_a_draft(self, data: st.DataObject, way: Way) -> None:
        good = sorted(name for name, (_, broken) in self.drafts.items() if not broken)
        branch = data.draw(st.sampled_from(good))
        self.at.follow()
        before, content = self.at.tip(), self.at.newest
        git(self.at.clone, "fetch", "-q", str(self.at.bare), branch)
        # all else stays: the draft may come from a history that was rewritten
        git(self.at.clone, "merge", "-q", "-s", "ours", "--no-commit", "--no-ff", "FETCH_HEAD")
        git(self.at.project, "checkout", "-q", "FETCH_HEAD", "--", f"./functions/{branch}.yaml")
        git(self.at.clone, "commit", "-qm", f"Merge {branch}", "--allow-empty")
        commit = git(self.at.clone, "rev-parse", "HEAD")
        self.at.contents[commit] = content
        self.at.push(way)
        assert self.at.tip() == (before if way == "http" and content.is_broken else commit)

    # ---- what people and machines do beside it
    @rule()
    def suspend(self) -> None:
        self.at.remote.suspend(NAME, "the fair")
        self.at.is_suspended = True

    @precondition(lambda self: self.at.is_suspended)
    @rule()
    def resume(self) -> None:
        assert self.at.remote.resume(NAME)
        self.at.is_suspended = False

    @rule()
    def set_a_value(self) -> None:
        value = f"hello {self.at.next_number()}"
        state = ("--state", str(self.at.state))
        assert self.at.served.bbops("env", "set", "GREETING", value, *state).returncode == 0
        self.at.greetings.append(value)

    @rule(count=st.integers(1, 5))
    def write_rows(self, count: int) -> None:
        for _ in range(count):
            self.at.write_row()

    @rule(years=st.sampled_from([-40, 40]))
    def let_the_clock_of_the_branch_jump(self, years: int) -> None:
        when = time.time() + years * 365 * 86_400
        with suppress(FileNotFoundError):  # it is packed
            os.utime(self.at.bare / "refs/heads/main", (when, when))

    @rule(date=st.sampled_from(DATES))
    def let_the_date_of_a_tag_jump(self, date: str) -> None:
        name = self.at.versions()[0].name
        text = git(self.at.bare, "for-each-ref", "--format=%(contents)", f"refs/tags/{name}")
        words = ("tag", "-f", "-a", "--cleanup=verbatim", "-m", text, name, f"{name}^{{}}")
        git(self.at.bare, *words, date=date)

    @rule()
    def take_the_next_tag(self) -> None:
        """Somebody's own, which is no version."""
        git(self.at.bare, "tag", "-f", f"bbops/{NAME}/v{self.at.newest_version + 1}")

    @rule()
    def pack_the_repository(self) -> None:
        git(self.at.bare, "gc", "-q", "--prune=now")

    # ---- kills
    @rule(victim=VICTIMS, moment=MOMENTS, way=WAYS,
          kind=st.sampled_from(["code", "column", "name"]), data=st.data())  # fmt: skip
    def kill_while_publishing(
        self, victim: Victim, moment: float, way: Way, kind: str, data: st.DataObject
    ) -> None:
        has_columns = bool(self.at.contents[self.at.live].columns)
        content = self.better(*([(f"c{self.at.next_number()}", "")] if kind != "code" else []))
        if kind == "name" and has_columns:
            content = self.renamed(data)
        self.at.follow()
        self.at.commit(content)
        self.at.is_disturbed = True
        with self.at.meanwhile(lambda: self.at.push(way)):
            time.sleep(moment)
            self.at.kill(victim)

    @rule(victim=VICTIMS, is_told=st.booleans())
    def end_a_process(self, victim: Victim, is_told: bool) -> None:
        if victim == "server" and is_told:
            self.at.restart()
        else:
            self.at.kill(victim)


class PublicationsInAFolder(Publications):
    """The same of a project in a folder of a repository in which others work, too."""

    path = "apps/small"

    @rule(way=WAYS, count=st.integers(1, 3))
    def push_commits_of_others(self, way: Way, count: int) -> None:
        """Nothing of the project changes, so nothing of it is published."""
        self.at.follow()
        before, content = self.at.tip(), self.at.newest
        for _ in range(count):
            number = self.at.next_number()
            (self.at.clone / "apps/other.txt").write_text(f"{number}\n")
            git(self.at.clone, "add", "-A")
            git(self.at.clone, "commit", "-qm", f"Another's {number}")
            self.at.contents[git(self.at.clone, "rev-parse", "HEAD")] = content
        commit, said = git(self.at.clone, "rev-parse", "HEAD"), self.at.push(way)
        is_refused = way == "http" and content.is_broken
        assert said.startswith("1 " if is_refused else "0 "), said
        assert self.at.tip() == (before if is_refused else commit)


@pytest.mark.long
@pytest.mark.parametrize(
    "machine", [Publications, PublicationsInAFolder], ids=["repository", "folder"]
)
def test_nothing_that_happens_hurts_what_is_served(machine: type[Publications]) -> None:
    run_machine(machine, SERVERS, EVENTS)
