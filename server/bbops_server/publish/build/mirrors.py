"""Copies of repositories elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bbops.base.errors import GitError
from bbops.source.git.address import Address
from bbops.source.git.mirror import Mirror


@dataclass(slots=True)
class Mirrors:
    """Each is used by ONE thread, which may wait for the network."""

    _mirrors: dict[tuple[str, str], Mirror] = field(default_factory=dict)

    def fetch(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Bring a mirror up to date; return the branch's newest commit, None without one.

        Beside it are the `newest` of the frontends, and the `trouble` with one.

        Args:
            asked: `url`, `mirror`, and what `Mirror.update` takes.

        Raises:
            GitError: the repository is not reached, or what it sends is not taken.
        """
        found = self._mirror(asked["url"], asked["mirror"]).update(
            asked["branch"], asked["project"], versions=asked["versions"],
            has_own_frontends=asked["has_own_frontends"],
        )  # fmt: skip
        return {"commit": found.commit, **asdict(found.frontends)}

    def branches(self, url: str, mirror: str) -> dict[str, Any]:
        """Return every branch over there with its newest commit. Raises as `fetch`."""
        return {"branches": self._mirror(url, mirror).branches()}

    def push_tag(self, url: str, mirror: str, tag: str) -> dict[str, Any]:
        """Push a tag to where the mirror comes from. Raises as `fetch`."""
        self._mirror(url, mirror).push_tag(tag)
        return {}

    def _mirror(self, url: str, mirror: str) -> Mirror:
        if (url, mirror) not in self._mirrors:
            address = Address.parse(url)
            if address is None:
                raise GitError("this is no address of a repository")
            self._mirrors[url, mirror] = Mirror(Path(mirror), address)
        return self._mirrors[url, mirror]
