"""The open pull requests of a project, and the state that this server set on the forge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError
from bbops_server.forges.hosted import HostedForge
from bbops_server.forges.values import PullRequest
from bbops_server.process.messages.repositories import FetchHeads
from bbops_server.publish.pull_requests.effects import heads_folder
from bbops_server.publish.sources.context import PublishContext
from bbops_server.publish.sources.remote import RemoteSource

FETCH_SECONDS: Final = 300.0

MAX_PULLS: Final = 200
"""The open pull requests that are followed."""

MAX_OF_AUTHOR: Final = 20
"""The open pull requests from forks of one author that are followed."""


@dataclass(frozen=True, slots=True)
class FollowedPull:
    """A pull request with its head in git."""

    pull: PullRequest
    head: str

    @property
    def draft(self) -> str:
        """The name of its draft; for a fork, a name that no branch can have."""
        pull = self.pull
        return f"pull~{pull.number}" if pull.is_fork else pull.branch


@dataclass(frozen=True, slots=True)
class OpenPulls:
    """The open pull requests of a branch.

    Attributes:
        numbers: of all.
        followed: those whose head could be fetched, at most `MAX_PULLS`. Branches of the
            repository come first: a stranger can open any number from forks.
    """

    numbers: frozenset[int] = frozenset()
    followed: Sequence[FollowedPull] = ()

    @property
    def own(self) -> Sequence[FollowedPull]:
        """The pull requests of branches of the repository."""
        return [each for each in self.followed if not each.pull.is_fork]

    @property
    def forks(self) -> Sequence[FollowedPull]:
        """The pull requests from forks."""
        return [each for each in self.followed if each.pull.is_fork]

    def find(self, number: int) -> FollowedPull | None:
        """Return a followed pull request."""
        return next((each for each in self.followed if each.pull.number == number), None)


def choose_followed(pulls: Iterable[PullRequest], most: int) -> Sequence[PullRequest]:
    """Return the pull requests to follow: own branches, then forks up to a bound by author.

    Args:
        pulls: the open pull requests, newest first.
        most: the most of all.
    """
    authors, own, forks = Counter[str](), list[PullRequest](), list[PullRequest]()
    for pull in pulls:
        if not pull.is_fork:
            own.append(pull)
        elif authors[pull.author] < MAX_OF_AUTHOR:
            authors[pull.author] += 1
            forks.append(pull)
    return [*own, *forks][:most]


async def read_open(forge: HostedForge, source: RemoteSource, at: PublishContext) -> OpenPulls:
    """Return the open pull requests of a project's branch.

    Raises:
        ForgeError: the forge does not list them.
        BbopsError: the repository cannot be reached.
    """
    listed = await forge.list_open(at.project.branch)
    first = choose_followed(listed, MAX_PULLS)
    pulls = {forge.pull_ref.format(number=pull.number): pull for pull in first}
    request = FetchHeads(
        source.address.url, str(heads_folder(source.mirror)), str(source.mirror), tuple(pulls),
        await source.find_authorization(),
    )  # fmt: skip
    heads = (await at.plane.build.ask(request, timeout_seconds=FETCH_SECONDS)).branches
    followed = tuple(FollowedPull(pulls[ref], heads[ref]) for ref in pulls if ref in heads)
    return OpenPulls(frozenset(pull.number for pull in listed), followed)


async def find_base(source: RemoteSource, at: PublishContext) -> str:
    """Return the newest commit of the live branch; empty without one."""
    newest = await source.revision(at.plane.build)
    return newest.source["commit"] if newest is not None else ""


# ---- the state that this server last set on the forge
# It is written before and after each request that creates something, so that a server that ends in
# between looks for the comment or deployment before it creates another one.


class PostedCheck(msgspec.Struct, frozen=True):
    """A status or check run at a commit; `digest` is empty if it is unknown."""

    commit: str = ""
    id: str = ""
    digest: str = ""


class PostedPull(msgspec.Struct, frozen=True):
    """The state of a pull request.

    Attributes:
        check: the status `bbops/check`.
        plan: the status `bbops/plan`.
        comment: the id of the comment; empty without one.
        digest: the digest of the comment.
        is_commenting: whether a request to create the comment was not answered yet.
        preview: the id of the deployment; empty without one.
        environment: the environment of the deployment.
        previewed: the commit of the deployment.
        deployed: the digest of the deployment.
        is_deploying: whether a request to create the deployment was not answered yet.
    """

    number: int
    check: PostedCheck = PostedCheck()
    plan: PostedCheck = PostedCheck()
    comment: str = ""
    digest: str = ""
    is_commenting: bool = False
    preview: str = ""
    environment: str = ""
    previewed: str = ""
    deployed: str = ""
    is_deploying: bool = False


class PostedForge(msgspec.Struct, frozen=True):
    """The state of a project's repository on its forge.

    Attributes:
        repository: the repository that it is about.
        pulls: the open pull requests.
        production: the commit of the production deployment.
        is_deploying: whether a request to create that deployment was not answered yet.
        released: the newest version with a release.
    """

    repository: str = ""
    pulls: tuple[PostedPull, ...] = ()
    production: str = ""
    is_deploying: bool = False
    released: str = ""

    def find(self, number: int) -> PostedPull:
        """Return the state of a pull request; a new one has none."""
        return next((pull for pull in self.pulls if pull.number == number), PostedPull(number))

    def put(self, pull: PostedPull) -> PostedForge:
        """Return it with the state of a pull request."""
        others = (each for each in self.pulls if each.number != pull.number)
        return msgspec.structs.replace(self, pulls=(*others, pull))

    def drop(self, number: int) -> PostedForge:
        """Return it without a pull request that has ended."""
        kept = tuple(each for each in self.pulls if each.number != number)
        return msgspec.structs.replace(self, pulls=kept)


class PostedFile:
    """The file of the posted state, in the state folder of a project."""

    def __init__(self, state: Path, repository: str) -> None:
        """Read the file; a damaged file, and one of another repository, count as empty."""
        self._file = state / "forge.json"
        self.posted = PostedForge(repository)
        try:
            found = msgspec.json.decode(self._file.read_bytes(), type=PostedForge)
        except (OSError, msgspec.MsgspecError):
            return
        if found.repository == repository:
            self.posted = found

    def write(self, posted: PostedForge) -> None:
        """Keep a state.

        Raises:
            ServerError: the file cannot be written.
        """
        try:
            replace_file(self._file, msgspec.json.encode(posted))
        except OSError as error:
            reason = (error.strerror or "no reason given").lower()
            raise ServerError(f"cannot write '{self._file}': {reason}") from None
        self.posted = posted

    def put(self, pull: PostedPull) -> None:
        """Keep the state of a pull request. Raises as `write`."""
        self.write(self.posted.put(pull))
