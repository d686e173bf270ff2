"""What a server is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Durability = Literal["normal", "full"]

CONTROL_HOST = "127.0.0.1"
"""The control plane answers this machine only."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One server's settings.

    `repository` is what is read, a mirror of one that is elsewhere. `path` is the project's folder
    in a repository of several, else empty. A port of 0 means any free one; `main.run` puts the
    found one in its place. With `holds_rewrites` a history that was rewritten waits for a decision.
    """

    repository: Path
    state: Path
    host: str = "127.0.0.1"
    port: int = 8000
    control_port: int = 8001
    branch: str = "main"
    path: str = ""
    workers: int = 1
    mode: Literal["serve", "dev"] = "serve"
    holds_rewrites: bool = False

    @property
    def data_url(self) -> str:
        """Where this machine reaches the project's routes."""
        here = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, not bound
        return _url(here.get(self.host, self.host), self.port)

    @property
    def control_url(self) -> str:
        """Where this machine reaches the control plane."""
        return _url(CONTROL_HOST, self.control_port)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
