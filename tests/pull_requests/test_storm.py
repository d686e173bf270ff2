"""Random events on both sides of a forge: in the end every pull request is as it should be."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.github.bare import is_ancestor
from tests.support.github.facts import Pull
from tests.support.github.world import Refused
from tests.support.on_github import BROKEN, REVIEWED, OnGitea, OnGitHub, OnGitLab
from tests.support.patience import wait_for
from tests.support.small_project import hello

EVENTS = int(os.environ.get("BBOPS_FORGE_EVENTS", "300"))
SEED = int(os.environ.get("BBOPS_FORGE_SEED", "40"))
STATUSES = (401, 403, 404, 409, 422, 429, 500, 502, 503, 0)


class Storm:
    """Random events, each of which may be refused."""

    def __init__(self, shop: OnGitHub, seed: int) -> None:
        self.shop, self.world, self.random = shop, shop.world, random.Random(seed)
        self.contents: dict[str, int] = {}
        self.number = 1

    @property
    def open(self) -> list[Pull]:
        """The open pull requests."""
        return [pull for pull in self.world.pulls if pull.state == "open"]

    def files(self) -> dict[str, str]:
        """Return files that are valid, or in one of four cases are not."""
        self.number += 1
        return BROKEN if self.random.random() < 0.25 else hello(self.number)

    def propose(self) -> None:
        """Open a pull request of a new branch, or of a fork."""
        is_fork = self.random.random() < 0.3
        home = self.world.fork("mallory") if is_fork else None
        branch = f"topic-{self.number}"
        self.shop.propose(branch, self.files(), home=home, who="mallory" if home else "ada")

    def push(self) -> None:
        """Push to the head of a pull request."""
        pull = self.random.choice(self.open)
        self.shop.push(pull.branch, self.files(), pull.home)

    def force(self) -> None:
        """Replace the head of a pull request."""
        pull = self.random.choice(self.open)
        self.shop.push(pull.branch, self.files(), pull.home, is_forced=True)

    def merge(self) -> None:
        """Merge a pull request whose checks succeeded, in most cases with an approval."""
        pull = self.random.choice(self.open)
        has_statuses = self.shop.shows_statuses(pull)
        if not has_statuses or set(self.shop.statuses(pull.head).values()) == {"success"}:
            if self.random.random() < 0.7:
                self.world.review(pull.number, "bob")
            method = self.random.choice(["merge", "squash", "rebase"])
            self.world.merge(pull.number, "ada", method)

    def require_reviewed(self) -> None:
        """Require that an approval covers each pull request of the live commit."""
        live = self.shop.told("shop")["applied_revision"].rpartition(":")[2]
        for pull in self.merged:
            if is_ancestor(self.world.repo.path, pull.merge_commit, live):
                assert self.is_approved(pull), pull

    def approve_all(self) -> None:
        """Approve what was merged without an approval."""
        for pull in self.merged:
            if not self.is_approved(pull):
                self.world.review(pull.number, "bob")

    @property
    def merged(self) -> list[Pull]:
        """The merged pull requests."""
        return [pull for pull in self.world.pulls if pull.merged_by]

    def is_approved(self, pull: Pull) -> bool:
        """Return whether a writer has approved the merged head."""
        approval = ("bob", "APPROVED", pull.head)
        found = [review for review in self.world.reviews if review.number == pull.number]
        return approval in {(review.who, review.state, review.commit) for review in found}

    def close(self) -> None:
        """Close a pull request."""
        self.world.close(self.random.choice(self.open).number)

    def lose(self) -> None:
        """Lose, double, hold or release webhooks."""
        hooks = self.world.webhooks
        hooks.lost, hooks.doubled = self.random.randrange(3), self.random.randrange(3)
        if hooks.is_held:
            hooks.is_held = False
            hooks.release(is_reversed=True)
        else:
            hooks.is_held = self.random.random() < 0.3

    def fail(self) -> None:
        """Let the next requests of a kind fail, before or after they have an effect."""
        status = self.random.choice(STATUSES)
        headers = {"retry-after": "1"} if status == 429 else {}
        self.shop.forge.faults.add(
            self.random.choice(["GET", "POST", self.shop.edits, "*"]), ".*", status=status,
            times=self.random.randrange(1, 4), is_done=self.random.random() < 0.5, headers=headers,
        )  # fmt: skip

    def forge_webhook(self) -> None:
        """Send a webhook with a wrong signature."""
        url = f"{self.shop.serving['control_url']}/hooks/shop"
        answer = httpx.post(url, content=b"{}", headers=self.shop.forged, timeout=60)
        assert answer.status_code in {401, 429}

    def rename(self) -> None:
        """Rename the repository, or name it as before."""
        name = "acme/shop" if self.world.repo.name != "acme/shop" else "acme/store"
        self.world.old_names.discard(name)
        self.world.rename(name)

    def expire(self) -> None:
        """Let the token expire, or renew it."""
        if self.shop.token in self.world.grants:
            self.shop.grant = self.world.grants.pop(self.shop.token)
        else:
            self.world.grants[self.shop.token] = self.shop.grant

    def kill(self) -> None:
        """Kill the server, and start it again."""
        self.shop.crash()

    def delete_comment(self) -> None:
        """Delete a comment of the server."""
        if self.world.comments:
            self.world.comments.remove(self.random.choice(self.world.comments))

    def run(self, events: int) -> None:
        """Let events happen."""
        kinds: list[tuple[Callable[[], None], int]] = [
            (self.propose, 12), (self.push, 20), (self.force, 8), (self.merge, 14),
            (self.close, 5), (self.lose, 12), (self.fail, 16), (self.forge_webhook, 3),
            (self.rename, 3), (self.expire, 3), (self.kill, 2), (self.delete_comment, 2),
        ]  # fmt: skip
        chosen, weights = zip(*kinds, strict=True)
        self.propose()
        for event in self.random.choices(chosen, weights, k=events):
            needs_pull = event in {self.push, self.force, self.merge, self.close}
            try:
                (self.propose if needs_pull and not self.open else event)()
            except Refused:
                continue

    def calm(self) -> None:
        """End all failures; webhooks arrive once more, as a poll and a list would come."""
        self.shop.forge.faults.clear()
        self.world.grants[self.shop.token] = self.shop.grant
        hooks = self.world.webhooks
        hooks.lost, hooks.doubled, hooks.is_held = 0, 0, False
        hooks.release()
        hooks.emit("push", {"ref": "refs/heads/main"}, self.world.repo.name)
        self.shop.nudge()


@pytest.fixture(params=[OnGitHub, OnGitea, OnGitLab], ids=["github", "gitea", "gitlab"])
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[OnGitHub]:
    """A server whose project is on a forge."""
    server: OnGitHub = request.param(tmp_path, files=REVIEWED, poll_seconds="1")
    yield server
    server.stop()


@pytest.mark.timeout(900)
@pytest.mark.long
def test_after_a_storm_everything_is_as_it_should_be(shop: OnGitHub) -> None:
    storm = Storm(shop, SEED)
    storm.run(EVENTS)
    storm.require_reviewed()
    storm.calm()
    storm.require_reviewed()
    storm.approve_all()
    for pull in storm.open:
        count = 2 if shop.shows_statuses(pull) else 0
        wait_for(lambda pull=pull, count=count: len(shop.statuses(pull.head)) == count)
        wait_for(lambda pull=pull: is_up_to_date(shop, pull))
        assert len(shop.comments(pull)) == 1
    main = shop.world.main()
    wait_for(lambda: shop.told("shop")["applied_revision"] == f"main@sha1:{main}")
    shop.until_in_production(main)
    tags = [found.tag for found in shop.world.releases]
    assert len(tags) == len(set(tags))
    active = [
        found.commit for found in shop.world.deployments
        if found.environment == "production" and found.states
        and found.states[-1]["state"] == "success"
    ]  # fmt: skip
    assert active.count(main) == int(shop.has_deployments)


def is_up_to_date(shop: OnGitHub, pull: Pull) -> bool:
    """Return whether statuses and comment are about the head, and right."""
    is_broken = "vars.nothing" in shop.world.read(pull.head, "functions/hello.yaml")
    state = set(shop.statuses(pull.head).values())
    comments = shop.comments(pull)
    if len(comments) != 1 or f"`{pull.head[:12]}`" not in comments[0]:
        return False
    if not shop.shows_statuses(pull):
        return True
    expected = {"failure"} if is_broken else {"success"}
    return state == expected or (not is_broken and "conflict" in comments[0])
