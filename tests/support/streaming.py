"""A project that asks a model, and what a client reads of its answers."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.support.patience import PATIENCE_SECONDS
from tests.support.served import Served
from tests.vendors.dripping import Dripping

KEY = "sk-canary-of-a-secret-that-nobody-may-read"
ASK = """
input: { prompt: string }
steps:
  - insert: { table: prompts, data: { prompt: "${ input.prompt }" } }
  - return:
      stream:
        aiModel.chatCompletion:
          model: m
          messages: [{ role: user, content: "${ input.prompt }" }]
"""
FILES = {
    "project.yaml": "bbops: 1\nname: shop\nenv:\n  MODEL_KEY: { secret: true }\n",
    "addons/aiModel.yaml": (
        'enabled: true\nconfig: { apiKey: "${ env.MODEL_KEY }", endpoint: URL }\n'
    ),
    "tables/prompts.yaml": (
        "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
        "  prompt: { type: text }\n"
    ),
    "functions/ask.yaml": ASK.lstrip(),
    "functions/count.yaml": (
        "steps:\n  - find: { table: prompts, withTotal: true }\n    as: all\n"
        "  - return: { value: '${ vars.all.total }' }\n"
    ),
    "functions/add.yaml": (
        "steps:\n  - insert: { table: prompts, data: { prompt: more } }\n  - return: { value: 1 }\n"
    ),
    "endpoints/ask.yaml": (
        "method: POST\npath: /ask\nfunction: ask\nauthentication: None\nhistory: full\n"
        "timeout: 60s\ndescription: Ask.\n"
    ),
    "endpoints/hurry.yaml": (
        "method: POST\npath: /hurry\nfunction: ask\nauthentication: None\ntimeout: 1s\n"
        "description: Ask in a hurry.\n"
    ),
    "endpoints/count.yaml": (
        "method: GET\npath: /count\nfunction: count\nauthentication: None\ndescription: Count.\n"
    ),
    "endpoints/add.yaml": (
        "method: POST\npath: /add\nfunction: add\nauthentication: None\ndescription: Add.\n"
    ),
}


class Shop:
    """A server with a project that asks a model, and the model's vendor."""

    def __init__(self, served: Served, vendor: Dripping) -> None:
        self.served, self.vendor = served, vendor

    @contextmanager
    def asking(self, path: str = "/ask", prompt: str = "Hi") -> Iterator[Reading]:
        """Ask, and give what comes."""
        narrow = httpx.HTTPTransport(
            socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)]
        )  # fmt: skip
        with (
            httpx.Client(
                base_url=self.served.api.base_url, transport=narrow, timeout=PATIENCE_SECONDS
            ) as client,
            client.stream("POST", path, json={"prompt": prompt}) as response,
        ):
            yield Reading(response)

    def history(self) -> list[dict[str, Any]]:
        """Return the requests that the server has kept."""
        told = self.served.bbops("requests", "--json", "--details").stdout
        return [json.loads(line) for line in told.splitlines()]


class Reading:
    """What a client reads of an answer."""

    def __init__(self, response: httpx.Response) -> None:
        self.response, self.lines = response, response.iter_lines()
        self.comments = 0

    def next(self) -> tuple[str, Any]:
        """Return the next event."""
        name = ""
        for line in self.lines:
            if line.startswith(":"):
                self.comments += 1
            elif line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                return name, json.loads(line.removeprefix("data: "))
        return "", None

    def rest(self) -> list[tuple[str, Any]]:
        """Return what comes until the end."""
        found = []
        while (one := self.next())[0]:
            found.append(one)
        return found
