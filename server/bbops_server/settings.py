"""What a server is told when it starts, and what it is told of each project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

Durability = Literal["normal", "full"]

CONTROL_HOST = "127.0.0.1"
"""The control plane answers this machine only."""

MAX_WORKERS = 64


@dataclass(frozen=True, slots=True)
class Settings:
    """One server's settings.

    A port of 0 means any free one; `main.run` puts the found one in its place. `data_shown` and
    `control_shown` are the addresses people are told, where those are others than this machine's.
    """

    state: Path
    host: str = "127.0.0.1"
    port: int = 8000
    control_host: str = CONTROL_HOST
    control_port: int = 8001
    workers: int = 1
    mode: Literal["serve", "dev"] = "serve"
    data_shown: str = ""
    control_shown: str = ""

    @property
    def data_url(self) -> str:
        """Where the projects' routes are reached."""
        here = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, not bound
        return self.data_shown or _url(here.get(self.host, self.host), self.port)

    @property
    def control_url(self) -> str:
        """Where the control plane is reached."""
        return self.control_shown or _url(self.control_host, self.control_port)

    def url_of(self, project: ProjectSettings) -> str:
        """Return where a project is reached, under the first of its hosts."""
        url = self.data_url
        if project.hosts:
            parts = urlsplit(url)
            port = f":{parts.port}" if parts.port else ""
            url = f"{parts.scheme}://{project.hosts[0]}{port}{parts.path}"
        return url + project.prefix


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """One project's settings.

    `name` is what the server calls it; a server of one project leaves it empty, and the project's
    own counts. `path` is its folder in a repository of several, else empty.
    """

    state: Path
    name: str = ""
    branch: str = "main"
    path: str = ""
    hosts: tuple[str, ...] = ()
    prefix: str = ""


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
