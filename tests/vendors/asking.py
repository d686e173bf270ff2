"""What tests of vendors share: a project with an addon, asked with real requests to the outside."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from bbops.base.doors import Storage
from bbops.base.host import HttpRequest, HttpResponse
from bbops.compiler.compile.release import build
from bbops.compiler.testing.client import Client, Reply
from bbops.compiler.testing.host import fake_host
from bbops.database.migrate.migrate import apply
from bbops.database.open import open_database
from bbops.runtime.linking.release import link
from bbops.source.tree import MemoryTree
from bbops_server.process.host.egress import EgressPolicy
from bbops_server.process.host.http import OutsideHttp
from bbops_server.process.host.run_folders import RunFolders
from bbops_server.process.host.system import SystemClock
from tests.conftest import Files, run, with_function

BOUNDARY = "----b"


class CountedHttp(OutsideHttp):
    """The server's door to the outside; counts what goes through it."""

    count = 0

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Count a request, and send it."""
        self.count += 1
        return await super().send(request)


class Asked:
    """A project with an addon, whose function is `run`, to be asked once."""

    def __init__(
        self, box: Path, addon: str, config: str, steps: str, *, env: Mapping[str, str],
        more: str = "", has_database: bool = False, storage: Storage | None = None,
        method: str = "POST", beside: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Make it.

        Args:
            has_database: for steps that take turns; such a project is asked once.
            storage: where it keeps files, if not in memory.
            beside: other files of the project.
        """
        files: Files = with_function(steps, method=method)
        self.method = method
        declared = "".join(f"  {name}: {{ secret: true, default: x }}\n" for name in env)
        files["project.yaml"] = files["project.yaml"].replace("env:\n", f"env:\n{declared}")
        files[f"addons/{addon}.yaml"] = f"enabled: true\n{config}"
        files["endpoints/run.yaml"] += more
        files |= beside or {}
        built = build(MemoryTree(files))
        assert built.project is not None, built.diagnostics
        self.folders, self.database = RunFolders(box / "runs"), None
        if has_database:
            self.loop = asyncio.new_event_loop()
            apply(box / "data.sqlite", {})
            self.database = self.loop.run_until_complete(open_database(box / "data.sqlite"))
        self.http = CountedHttp(EgressPolicy(["127.0.0.1"]))
        host = replace(
            fake_host(self.database, http=self.http, files=self.folders),
            clock=SystemClock(), streams=self.http,
        )  # fmt: skip
        host = host if storage is None else replace(host, storage=storage)
        self.host = host
        values = {**dict.fromkeys(built.project.settings.model.env, "x" * 40), **env}
        release = link(built.artifact, name="a", host=host, env=values, detailed=True)
        self.client = Client(release, self.database)

    @property
    def log(self) -> str:
        """What has been logged."""
        return str(self.host.log.lines)  # type: ignore[attr-defined]

    def ask(self, body: Any = None, **more: Any) -> Reply:
        """Ask for /run."""

        async def ask() -> Reply:
            try:
                return await self.client.ask(self.method, "/run", body, **more)
            finally:
                await self.http.close()
                if self.database is not None:
                    await self.database.close()

        with closing(self.folders):
            if self.database is None:
                found: Reply = run(ask())
                return found
            with closing(self.loop):
                return self.loop.run_until_complete(ask())

    def send(
        self, file: bytes, kind: str, fields: Mapping[str, str] | None = None
    ) -> Reply:  # fmt: skip
        """Ask for /run with a file and fields of a form."""
        parts = [_part(f'name="{name}"', text.encode()) for name, text in (fields or {}).items()]
        parts.append(_part(f'name="file"; filename="f"\r\nContent-Type: {kind}', file))
        body = b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()
        kind = f"multipart/form-data; boundary={BOUNDARY}"
        return self.ask(raw=body, headers={"content-type": kind})


def _part(head: str, content: bytes) -> bytes:
    told = f"--{BOUNDARY}\r\nContent-Disposition: form-data; {head}\r\n\r\n"
    return told.encode() + content + b"\r\n"
