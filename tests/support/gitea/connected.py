"""A server's client of the stand-in for Gitea."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bbops_server.forges.gitea import GiteaForge
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings.repositories import ForgeBinding, ForgeKind
from tests.support.clock import Clock
from tests.support.gitea.server import GiteaServer
from tests.support.github.connected import EGRESS, TOKEN_ENV
from tests.support.github.world import push

BOT: Final = "bbops-bot"


@contextmanager
def open_gitea(folder: Path, kind: str = "gitea") -> Iterator[GiteaServer]:
    """Serve a repository with one commit on main, which the server's bot administers."""
    with GiteaServer(folder / "gitea", kind=kind) as server:
        push(server.world.repo, "main", {"README.md": "shop\n"}, who="ada", message="Start")
        server.world.repo.roles.update({"ada": "admin", "bea": "write", "cyd": "read"})
        server.world.repo.roles[BOT] = "admin"
        server.world.sync()
        yield server


class GiteaClient:
    """Opens clients of one stand-in."""

    def __init__(self, server: GiteaServer, folder: Path) -> None:
        self.server, self.world, self.clock = server, server.world, Clock()
        self._folder, self._opened = folder, list[GiteaForge]()

    def open(self, kind: ForgeKind = "gitea", **scopes: str) -> GiteaForge:
        """Return a client with a token, of these scopes alone if there are any."""
        token = self.world.add_token(BOT, scopes or None)
        name = self.world.repo.name
        binding = ForgeBinding("shop", kind, self.server.url, name, token_env=TOKEN_ENV)
        secrets = Secrets(self._folder, {TOKEN_ENV: token})
        forge = GiteaForge(binding, secrets, EGRESS, clock=self.clock)
        self._opened.append(forge)
        return forge

    async def aclose(self) -> None:
        """Close the clients."""
        for forge in self._opened:
            await forge.aclose()
