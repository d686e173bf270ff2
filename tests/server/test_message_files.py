"""Messages between processes are typed classes with unique names, not dicts."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import bbops_server.process.messages as room
from bbops_server.process.messages.request import (
    AnswerMessage,
    EventMessage,
    ProcessMessage,
    RequestMessage,
    answer_type,
)

SERVER = Path(room.__file__).parents[2]


def messages() -> dict[str, list[type[ProcessMessage]]]:
    """Return the messages of each module."""
    found = {}
    for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        module = importlib.import_module(info.name)
        own = [one for one in vars(module).values() if _is_message(one, info.name)]
        if own:
            found[info.name] = own
    return found


def requests() -> list[type[RequestMessage[Any]]]:
    """Return every request."""
    every = [message for found in messages().values() for message in found]
    return [message for message in every if issubclass(message, RequestMessage)]


def _is_message(value: object, module: str) -> bool:
    is_ours = isinstance(value, type) and issubclass(value, (RequestMessage, EventMessage))
    return is_ours and value.__module__ == module and value not in {RequestMessage, EventMessage}


def test_each_message_has_a_unique_name_and_each_request_an_answer() -> None:
    every = [one for found in messages().values() for one in found]
    assert len(every) > 60
    assert len({message.__name__ for message in every}) == len(every)
    assert all(issubclass(answer_type(request), AnswerMessage) for request in requests())


@pytest.mark.long
def test_nothing_is_asked_by_a_dict() -> None:
    found = [
        f"{file.relative_to(SERVER)}:{node.lineno}"
        for file in SERVER.rglob("*.py")
        if file.parent.name != "handover"  # lines of JSON between servers of different versions
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Dict)
        and any(isinstance(key, ast.Constant) and key.value == "do" for key in node.keys)
    ]
    assert found == []


def test_each_request_is_named_where_it_is_answered() -> None:
    answering = (
        "data_plane/serve.py", "data_plane/addons.py", "data_plane/keys.py", "data_plane/jobs.py",
        "data_plane/deliveries.py", "data_plane/events.py", "data_plane/agents.py",
        "data_plane/draft_process/draft.py", "process/forks/zygote.py",
        "process/messages/service.py", "publish/build",
    )  # fmt: skip
    files = [file for one in answering for file in _files(SERVER / one)]
    text = "\n".join(file.read_text() for file in files)
    every = [
        one for found in messages().values() for one in found if issubclass(one, RequestMessage)
    ]
    assert [one.__name__ for one in every if one.__name__ not in text] == []


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]
