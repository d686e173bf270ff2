"""A server whose agent answers by a script, and adds notes once a person approves the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from bbops.source.git import store
from tests.support.models import KEY, ModelServer, Script, scripted_models
from tests.support.served import Served
from tests.support.small_project import endpoint

Helpdesk = Callable[[Script], Served]
HOSTILE: Final = "<img src=x onerror=alert(1)>{{7*7}}"

AGENT: Final = """
description: Answers questions about notes.
model: { addon: aiModel, name: large, prices: { input: 1000, output: 2000 } }
instructions: Keep the notes.
tools:
  - { function: notes/add, approval: true }
  - notes/list
runsOn:
  chat: { authentication: None }
  event: note.wanted
"""
ADD: Final = """
description: Adds a note.
input: { text: { type: string, maxLength: 200 } }
steps:
  - insert: { table: notes, data: { text: "${ input.text }" } }
    as: note
  - return: { value: { id: "${ vars.note.id }" } }
"""
LIST: Final = """
description: Lists the notes.
steps:
  - find: { table: notes }
    as: notes
  - return: { value: "${ vars.notes }" }
"""
FILES: Final[dict[str, str]] = {
    "project.yaml": "bbops: 1\nname: desk\nenv:\n  AI_KEY: { secret: true }\n",
    "tables/notes.yaml": "columns:\n"
    "  id: { type: integer, primaryKey: true, auto: increment }\n"
    "  text: { type: string, maxLength: 200 }\n",
    "functions/notes/add.yaml": ADD,
    "functions/notes/list.yaml": LIST,
    "functions/want.yaml": "steps:\n  - emit: { event: note.wanted, payload: { topic: tea } }\n",
    "endpoints/want.yaml": endpoint("POST", "/want", "want"),
    "endpoints/notes.yaml": endpoint("GET", "/notes", "notes/list"),
    "agents/helpdesk.yaml": AGENT,
}


def files(models: str) -> dict[str, str]:
    """Return the files of the project; `models` is the address of its models."""
    config = f'enabled: true\nconfig: {{ apiKey: "${{ env.AI_KEY }}", endpoint: {models} }}\n'
    return {**FILES, "addons/aiModel.yaml": config}


def start(folder: Path, models: ModelServer) -> Served:
    """Return a server of the project that asks the scripted model."""
    tree = {path: text.encode() for path, text in files(models.url).items()}
    store.init(folder / "desk", tree, message="Start")
    (folder / "settings.yaml").write_text("egress: { allow: [127.0.0.1] }\n")
    served = Served(
        folder / "desk", folder / "home", "--settings", str(folder / "settings.yaml"),
        env={"AI_KEY": KEY},
    )  # fmt: skip
    served.live()
    return served


@pytest.fixture
def helpdesk(tmp_path: Path) -> Iterator[Helpdesk]:
    """Start the server with a script of its model."""
    with ExitStack() as ending:

        def make(script: Script) -> Served:
            models = ending.enter_context(scripted_models(script))
            return ending.enter_context(start(tmp_path, models))

        yield make


def talk(served: Served, message: str) -> dict[str, object]:
    """Send a message to the agent; return what its chat answers."""
    reply = served.api.post("/~agents/helpdesk", json={"message": message})
    assert reply.status_code in {200, 202}, reply.text
    answer: dict[str, object] = reply.json()
    return answer
