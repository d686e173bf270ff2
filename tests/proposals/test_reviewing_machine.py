"""Whatever people with and without rights do, a branch takes only what its rule lets through.

Two projects share a repository, a mirror follows one that takes whatever is pushed there; accounts
are disabled and roles change between a proposal, its approval and its merge. Marker `long`.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from bbops_server.accounts.rules import Role
from tests.support.machines import run_machine
from tests.support.reviewing import BOTH, PEOPLE, Proposal, Reviewing

SERVERS, EVENTS = int(os.environ.get("BBOPS_SERVERS", "1")), 50
ANYBODY, PROJECTS = st.sampled_from(PEOPLE), st.sampled_from(BOTH)
OTHERS = st.sampled_from([one for one in PEOPLE if one != "owner"])
ROLES = st.sampled_from([None, Role.VIEWER, Role.DEVELOPER, Role.MAINTAINER])


class Reviews(RuleBasedStateMachine):
    """What may happen to a team in a year."""

    events = merges = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="reviewing-")
        self.at = Reviewing(Path(self.folder.name))
        self.waiting = ""

    def teardown(self) -> None:
        self.at.stop()
        self.folder.cleanup()

    @invariant(check_during_init=True)
    def each_serves_what_was_let_through(self) -> None:
        type(self).events += 1
        self.at.settle()

    def drawn(self, data: st.DataObject) -> Proposal:
        return data.draw(st.sampled_from(self.at.open))

    @initialize(project=PROJECTS)
    def begin_by_the_rule(self, project: str) -> None:
        one = self.open_proposal("developer", project)
        assert one is not None
        self.approve_by_all(one)
        self.try_to_merge(one, "owner")

    # ---- people
    @rule(name=OTHERS)
    def disable(self, name: str) -> None:
        self.at.disable(name, disabled=True)

    @precondition(lambda self: self.at.disabled)
    @rule(data=st.data())
    def enable(self, data: st.DataObject) -> None:
        self.at.disable(data.draw(st.sampled_from(sorted(self.at.disabled))), disabled=False)

    @rule(name=OTHERS, project=PROJECTS, role=ROLES)
    def give_another_role(self, name: str, project: str, role: Role | None) -> None:
        self.at.set_role(name, project, role)

    # ---- proposals
    @rule(name=ANYBODY, project=PROJECTS)
    def propose(self, name: str, project: str) -> None:
        self.open_proposal(name, project)

    @rule(name=OTHERS, project=PROJECTS)
    def go_by_the_rule(self, name: str, project: str) -> None:
        self.at.set_role(name, project, Role.DEVELOPER)
        if (one := self.open_proposal(name, project)) is not None:
            self.approve_by_all(one)
            self.try_to_merge(one, "owner")

    def open_proposal(self, name: str, project: str) -> Proposal | None:
        clone, version = self.at.change(project)
        said = self.at.push(clone, name, project, f"refs/for/main/topic{version}")
        assert bool(said) == self.at.may(name, project, Role.DEVELOPER), (name, project)
        if not said:
            return None
        found = re.search(r"opened proposal #(\d+)", said)
        assert found is not None, said
        self.at.open.append(Proposal(int(found[1]), project, name, version))
        return self.at.open[-1]

    @rule(name=ANYBODY, project=PROJECTS)
    def reach_into_the_other_folder(self, name: str, project: str) -> None:
        (other,) = {*BOTH} - {project}
        if not self.at.may(name, other, Role.DEVELOPER):
            clone, version = self.at.change(project, other)
            assert self.at.push(clone, name, project, f"refs/for/main/both{version}") == ""

    @rule(name=ANYBODY, project=PROJECTS)
    def push_past_the_rule(self, name: str, project: str) -> None:
        clone, _ = self.at.change(project)
        assert self.at.push(clone, name, project, "refs/heads/main") == ""

    @precondition(lambda self: self.at.open)
    @rule(data=st.data(), name=ANYBODY)
    def approve(self, data: st.DataObject, name: str) -> None:
        one = self.drawn(data)
        done = self.at.asking[name, one.project].say(one.number, "approved")
        may = self.at.may(name, one.project, Role.DEVELOPER)
        assert done.is_success == may, (name, one, done.text)
        if may:
            one.said.add(name)

    @precondition(lambda self: self.at.open)
    @rule(data=st.data(), name=ANYBODY)
    def merge(self, data: st.DataObject, name: str) -> None:
        self.try_to_merge(self.drawn(data), name)

    @precondition(lambda self: self.at.open)
    @rule(data=st.data(), name=ANYBODY)
    def approve_and_merge(self, data: st.DataObject, name: str) -> None:
        one = self.drawn(data)
        self.approve_by_all(one)
        self.try_to_merge(one, name)

    def approve_by_all(self, one: Proposal) -> None:
        for who in {"owner", "maintainer"} - {one.author}:
            if self.at.asking[who, one.project].say(one.number, "approved").is_success:
                one.said.add(who)

    def try_to_merge(self, one: Proposal, name: str) -> None:
        counts = self.at.count(one)
        may = self.at.may(name, one.project, Role.MAINTAINER)
        done = self.at.asking[name, one.project].merge(one.number)
        if done.is_success:
            assert may, (name, one)
            assert counts, one
            self.note_merge(one)
        elif may and counts:  # another merge changed the same lines since it was made
            assert "conflict" in done.text, (name, one, done.text)
            self.at.open.remove(one)

    def note_merge(self, one: Proposal) -> None:
        type(self).merges += 1
        self.at.open.remove(one)
        self.at.live[one.project] = one.version
        self.at.numbers[one.project] += 1
        for other in self.at.open:
            if other.project == one.project:  # it changes the same file
                other.said.clear()

    # ---- a repository elsewhere, and the server itself
    @rule()
    def push_upstream(self) -> None:
        self.at.number += 1
        self.version = 1_000 + self.at.number
        self.waiting = self.at.push_upstream(self.version)

    @precondition(lambda self: self.waiting)
    @rule()
    def accept(self) -> None:
        done = self.at.bbops("accept", self.waiting[:12], "--project", "away")
        if done.returncode == 0:
            self.at.live["away"], self.waiting = self.version, ""

    @rule(how=st.sampled_from([signal.SIGTERM, signal.SIGKILL]))
    def restart(self, how: int) -> None:
        self.at.restart(how)


@pytest.mark.long
def test_a_branch_takes_only_what_its_rule_lets_through() -> None:
    Reviews.merges = 0
    run_machine(Reviews, SERVERS, EVENTS)
    assert Reviews.merges
