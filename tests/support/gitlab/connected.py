"""A server's client of the stand-in for GitLab."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bbops_server.forges.gitlab import GitLabForge
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings.repositories import ForgeBinding
from tests.support.clock import Clock
from tests.support.github.connected import EGRESS, TOKEN_ENV
from tests.support.github.world import push
from tests.support.gitlab.server import GitLabServer

BOT: Final = "bbops-bot"


@contextmanager
def open_gitlab(folder: Path) -> Iterator[GitLabServer]:
    """Serve a project with one commit on main, which the server's bot maintains."""
    with GitLabServer(folder / "gitlab") as server:
        push(server.world.repo, "main", {"README.md": "shop\n"}, who="ada", message="Start")
        server.world.repo.roles.update({"ada": "admin", "bea": "write", "cyd": "read"})
        server.world.repo.roles[BOT] = "admin"
        server.world.sync()
        yield server


class GitLabClient:
    """Opens clients of one stand-in."""

    def __init__(self, server: GitLabServer, folder: Path) -> None:
        self.server, self.world, self.clock = server, server.world, Clock()
        self.world.clock = self.clock.now
        self._folder, self._opened = folder, list[GitLabForge]()

    def open(self, **scopes: str) -> GitLabForge:
        """Return a client with a token, of these scopes alone if there are any."""
        token = self.world.add_token(BOT, scopes or None)
        name = self.world.repo.name
        binding = ForgeBinding("shop", "gitlab", self.server.url, name, token_env=TOKEN_ENV)
        secrets = Secrets(self._folder, {TOKEN_ENV: token})
        forge = GitLabForge(binding, secrets, EGRESS, clock=self.clock)
        self._opened.append(forge)
        return forge

    async def aclose(self) -> None:
        """Close the clients."""
        for forge in self._opened:
            await forge.aclose()
