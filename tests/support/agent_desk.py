"""The template's project with an agent that keeps notes, its scripted model, and a server."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bbops.interfaces.cli.init import template_files
from bbops.source.git import store
from tests.support.models import KEY, ModelServer, Script, scripted_models
from tests.support.served import Served

ENV = "env:\n  AI_KEY: { secret: true }\n"
ADDON = "enabled: true\nconfig: {{ apiKey: '${{ env.AI_KEY }}', endpoint: '{url}' }}\n"
AGENT = """
description: Keeps my notes.
model: { addon: ADDON, name: scripted }
instructions: Keep the notes of the user.
tools:
  - notes/list
  - { function: notes/create, approval: args.title == 'Secret' }
runsOn:
  chat: { authentication: JWT }
limits: { maxSteps: 6, timeout: 30s }
"""


class AgentDesk(Served):
    """A server whose agent can be talked to."""

    models: ModelServer

    def say(self, token: dict[str, str], message: str, **more: Any) -> tuple[int, Any]:
        """Send a message; return status and body."""
        answer = self.api.post(
            "/~agents/keeper", json={"message": message, **more}, headers=token
        )  # fmt: skip
        return answer.status_code, answer.json()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        file = self.repository / ".bbops/state/data.sqlite"
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            return database.execute(sql).fetchall()

    def has_ended(self, state: str = "done") -> bool:
        """Return whether all runs are in a state."""
        return {one for (one,) in self.query("SELECT state FROM _bbops_runs")} == {state}


@contextmanager
def agent_desk(
    tmp_path: Path, script: Script, agent: str = AGENT, addon: str = "aiModel", **more: str
) -> Iterator[AgentDesk]:
    """Serve the project; `more` are other files, with `__` for `/` and without `.yaml`."""
    with scripted_models(script) as models:
        files = template_files("sample")
        settings = files["project.yaml"].decode().replace("env:\n", ENV, 1)
        files |= {
            "project.yaml": settings.encode(),
            f"addons/{addon}.yaml": ADDON.format(url=models.url).encode(),
            "agents/keeper.yaml": agent.replace("ADDON", addon).encode(),
        }
        files |= {
            f"{path.replace('__', '/')}.yaml": text.encode() for path, text in more.items()
        }  # fmt: skip
        store.init(tmp_path / "desk", files, message="Start")
        (tmp_path / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
        given = ["--settings", str(tmp_path / "settings.yaml")]
        with AgentDesk(tmp_path / "desk", tmp_path / "home", *given, env={"AI_KEY": KEY}) as desk:
            desk.models = models
            desk.live()
            yield desk
            assert models.failures == []
