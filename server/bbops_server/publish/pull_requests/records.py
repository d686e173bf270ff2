"""The state of pull requests on the forge, as this server has set it last.

It is written before and after each request that creates something, so that a server that ends in
between looks for the comment or deployment before it creates another one.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bbops.base.disk import replace_file
from bbops.base.errors import ServerError


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
