"""A server's client of the stand-in for GitHub, with a token or as an App."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from bbops_server.forges.github import GitHubForge
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.secrets import Secrets
from bbops_server.settings.repositories import ForgeApp, ForgeBinding
from tests.support.clock import Clock
from tests.support.github.facts import App
from tests.support.github.server import GitHubServer
from tests.support.github.world import GitHubWorld, push
from tests.support.signing_keys import rsa_key

TOKEN_ENV: Final = "SHOP_FORGE_TOKEN"
KEY_ENV: Final = "SHOP_APP_KEY"
APP_ID: Final = 4_711
Run = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine to its end."""
EGRESS: Final = EgressPolicy(["127.0.0.1"])


@contextmanager
def open_github(folder: Path, files: dict[str, str] | None = None) -> Iterator[GitHubServer]:
    """Serve a repository with one commit on main."""
    with GitHubServer(folder / "github") as server:
        push(
            server.world.repo, "main", files or {"README.md": "shop\n"}, who="ada", message="Start"
        )
        server.world.repo.roles.update(ada="admin", bea="write", cyd="read")
        server.world.sync()
        yield server


def bind_token(server: GitHubServer) -> ForgeBinding:
    """Return the binding of a server with a token."""
    name = server.world.repo.name
    return ForgeBinding("shop", "github", server.url, name, token_env=TOKEN_ENV)


def bind_app(server: GitHubServer) -> ForgeBinding:
    """Return the binding of a server with an App."""
    app = ForgeApp(APP_ID, KEY_ENV)
    return ForgeBinding("shop", "github", server.url, server.world.repo.name, app=app)


def install_app(world: GitHubWorld) -> dict[str, str]:
    """Create the App and install it; return the variable with its private key."""
    key = rsa_key()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    world.app = App(APP_ID, "bbops-acme", public.decode())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return {KEY_ENV: private.decode()}


class Client:
    """Opens clients of one stand-in; `clock` is the time of both, which a test moves."""

    def __init__(self, server: GitHubServer, folder: Path) -> None:
        self.server, self.world, self.clock = server, server.world, Clock()
        self.world.clock = self.clock.now
        self._folder, self._opened = folder, list[GitHubForge]()
        self.values = {TOKEN_ENV: self.world.add_token(), **install_app(self.world)}

    def with_token(self, **rights: str) -> GitHubForge:
        """Return a client with a token, of these rights alone if there are any."""
        if rights:
            self.values[TOKEN_ENV] = self.world.add_token(rights=rights)
        return self._open(bind_token(self.server))

    def as_app(self) -> GitHubForge:
        """Return a client of the App."""
        return self._open(bind_app(self.server))

    def _open(self, binding: ForgeBinding) -> GitHubForge:
        secrets = Secrets(self._folder, self.values)
        forge = GitHubForge(binding, secrets, EGRESS, clock=self.clock)
        self._opened.append(forge)
        return forge

    async def aclose(self) -> None:
        """Close the clients."""
        for forge in self._opened:
            await forge.aclose()
