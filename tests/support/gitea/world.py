"""The state of the stand-in for Gitea, and the differences from GitHub."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.github.facts import Pull, Review
from tests.support.github.webhooks import Delivery, Webhooks
from tests.support.github.world import WRITERS, GitHubWorld, Refused

SCOPES: Final = {
    "repository": "write", "issue": "write", "organization": "read", "user": "read",
}  # fmt: skip
"""The scopes of a token that the server needs."""

_EVENTS: Final = {"pull_request_review": "pull_request_approved"}
_VERDICTS: Final = frozenset({"APPROVED", "CHANGES_REQUESTED", "DISMISSED"})


class GiteaWorld(GitHubWorld):
    """One repository with its forks, users and tokens.

    Attributes:
        kind: `gitea` or `forgejo`.
        style: the merge style that the repository prefers.
    """

    git_right = "repository: write"

    def __init__(self, folder: Path, name: str = "acme/shop", kind: str = "gitea") -> None:
        super().__init__(folder, name)
        self.webhooks.stop()
        self.kind, self.style = kind, "merge"
        self.webhooks = Webhooks(self._headers)

    def add_token(
        self, who: str = "bbops-bot", rights: Mapping[str, str] | None = None, *,
        scopes: str | None = None,
    ) -> str:  # fmt: skip
        """Return a new token of a user; `rights` are its scopes."""
        return super().add_token(who, SCOPES if rights is None else rights, scopes=scopes)

    def is_official(self, review: Review) -> bool:
        """Return whether a review is the last verdict of a user who may write."""
        verdicts = [
            each for each in self.reviews
            if (each.number, each.who) == (review.number, review.who) and each.state in _VERDICTS
        ]  # fmt: skip
        return verdicts[-1:] == [review] and self.role(review.who) in WRITERS

    def agit(self, author: str, head: str, title: str = "Change") -> Pull:
        """Open a pull request by a push to `refs/for/main`, which has no branch."""
        pull = Pull(len(self.pulls) + 1, title, "", author, None, "", "main", head, self.main())
        self.pulls.append(pull)
        return pull

    def _sync_pull(self, pull: Pull) -> None:
        if pull.branch:
            super()._sync_pull(pull)

    def require_open(self, pull: Pull, head: str) -> None:
        """Require that a pull request may be merged. Raises: Refused: it may not."""
        if pull.merge_commit:
            raise Refused(405, "The PR is already merged")
        if pull.state != "open":
            raise Refused(404, "The target couldn't be found.")
        if pull.is_draft:
            raise Refused(405, "Work in progress PRs cannot be merged")
        if head and head != pull.head:
            raise Refused(409, "head out of date")

    def _headers(self, delivery: Delivery) -> dict[str, str]:
        event = _EVENTS.get(delivery.event, delivery.event)
        names = ("gitea", "forgejo") if self.kind == "forgejo" else ("gitea",)
        own = {
            f"x-{name}-{key}": value for name in names
            for key, value in (
                ("event", event), ("event-type", delivery.event), ("delivery", delivery.id),
                ("signature", delivery.signature),
            )
        }  # fmt: skip
        return {"content-type": "application/json", **own}
