"""An operator who runs `bbops forge` in the folder of a server.yaml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bbops_server.process.host.secrets import Secrets
from tests.support.forge_world.api_server import ApiServer
from tests.support.served import environment

CONTROL = "https://bbops.test"
HOOK = f"{CONTROL}/hooks/shop"


class Operator:
    """Runs `bbops forge` in the folder of a server.yaml."""

    def __init__(self, folder: Path, forge: ApiServer) -> None:
        self.folder, self.forge = folder / "server", forge
        self.folder.mkdir()
        self.env = environment(folder)
        self.write()

    def write(self, forge: str = "", *, control: str = f"control: {CONTROL}") -> None:
        """Write server.yaml, with the line of `forge` if there is one."""
        line = f"\n    {forge}" if forge else ""
        (self.folder / "server.yaml").write_text(
            f"urls: {{ {control} }}\negress: {{ allow: [127.0.0.1] }}\nprojects:\n  shop:\n"
            f"    repository: {self.forge.clone_url()}\n    pathPrefix: /shop{line}\n"
        )

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), input=given, text=True, cwd=self.folder, env=self.env,
            capture_output=True, check=False,
        )  # fmt: skip

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-P", "-m", "bbops", "forge", *words]

    def stored(self, name: str) -> str | None:
        key = Path(self.env["XDG_CONFIG_HOME"]) / "bbops/key"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BBOPS_KEY", key.read_text())
            return Secrets(self.folder / ".bbops/state", {}).get(name)
