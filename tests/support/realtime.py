"""A project with topics, and plain clients of it: as few lines as the protocols need."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import httpx
from websockets.sync.client import ClientConnection, connect

from tests.support.patience import PATIENCE_SECONDS
from tests.support.processes import children
from tests.support.served import Served
from tests.support.small_project import endpoint

LOGIN = """
input: { user: string, lasts?: string }
steps:
  - generateAuthToken: { userId: "${ input.user }", expiresIn: "${ input.lasts | default('1h') }" }
    as: token
  - return: { value: "${ vars.token }" }
"""
SAY = """
input: { topic: string, text: string }
steps:
  - publish: { realtime: rooms, params: { room: "${ input.topic }" }, event: said,
               payload: { text: "${ input.text }" } }
  - publish: { realtime: news, event: said, payload: { text: "${ input.text }" } }
  - return: { status: 204 }
"""
LATER = """
input: { text: string }
steps:
  - enqueue: { function: tell, input: { text: "${ input.text }" } }
  - return: { status: 202 }
"""
TELL = """
input: { text: string }
steps:
  - publish: { realtime: news, event: said, payload: { text: "${ input.text }" } }
  - publish: { realtime: rooms, params: { room: jobs }, event: said,
               payload: { text: "${ input.text }" } }
"""
MEMBER = """
steps:
  - find: { table: members, where: user_id == vars.auth.userId and room == params.room, one: true }
    as: member
  - if: vars.member == null
    then:
      - throw: { status: 403, message: not a member }
"""
JOIN = """
input: { user: string, room: string, leaves?: boolean }
steps:
  - if: input.leaves == true
    then:
      - delete: { table: members, where: user_id == input.user and room == input.room }
    else:
      - insert: { table: members, data: { user_id: "${ input.user }", room: "${ input.room }" } }
  - return: { status: 204 }
"""
FILES = {
    "project.yaml": (
        "bbops: 1\nname: talk\nenv:\n  JWT_SECRET: { secret: true, generate: true }\n"
        "auth:\n  signingKey: ${ env.JWT_SECRET }\n"
    ),
    "tables/members.yaml": (
        "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
        "  user_id: { type: string, maxLength: 40 }\n  room: { type: string, maxLength: 40 }\n"
    ),
    "functions/login.yaml": LOGIN,
    "functions/say.yaml": SAY,
    "functions/later.yaml": LATER,
    "functions/tell.yaml": TELL,
    "functions/member.yaml": MEMBER,
    "functions/join.yaml": JOIN,
    "endpoints/login.yaml": endpoint("POST", "/login", "login"),
    "endpoints/say.yaml": endpoint("POST", "/say", "say"),
    "endpoints/later.yaml": endpoint("POST", "/later", "later"),
    "endpoints/join.yaml": endpoint("POST", "/members", "join"),
    "realtime/news.yaml": (
        "topic: news\nauthentication: None\nevents:\n  said: { text: string }\n"
    ),
    "realtime/rooms.yaml": (
        "topic: rooms/:room\nauthentication: None\nsubscribe: params.room != 'secret'\n"
        "publish: params.room != 'quiet'\nhistory: { size: 100, for: 5m }\n"
        "presence: { show: { room: params.room } }\nevents:\n  said: { text: string }\n"
    ),
    "realtime/members.yaml": (
        "topic: members/:room\nauthentication: JWT\nmiddleware: [member]\nrecheck: 1s\n"
        "publish: vars.auth.userId == 'ada'\npresence: { show: { name: vars.auth.userId } }\n"
        "events:\n  said: { text: string }\n"
    ),
}  # fmt: skip


class Talker:
    """A websocket that speaks the Centrifuge protocol, a line at a time."""

    def __init__(self, address: str, **given: Any) -> None:
        self._connecting = connect(address, compression=None, **given)
        self.socket: ClientConnection = self._connecting.__enter__()
        self.number = 0
        self.pushed: list[dict[str, Any]] = []
        self.lines: list[str] = []

    def next(self, seconds: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """Return the next object that is not a ping; those are answered."""
        while True:
            if not self.lines:
                self.lines = str(self.socket.recv(timeout=seconds)).split("\n")
            found: dict[str, Any] = json.loads(self.lines.pop(0))
            if found:
                return found
            self.socket.send("{}")  # a ping wants an answer

    def ask(self, command: str, **given: Any) -> dict[str, Any]:
        """Return the reply to a command: its result, or `{"error": …}`."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, command: given}))
        while (found := self.next()).get("id") != self.number:
            self.pushed.append(found["push"])
        return found[command] if command in found else {"error": found["error"]}

    def push(self) -> dict[str, Any]:
        """Return the next push."""
        return self.pushed.pop(0) if self.pushed else self.next()["push"]

    def said(self, count: int = 1) -> list[str]:
        """Return the texts of the next messages."""
        return [self.push()["pub"]["data"]["payload"]["text"] for _ in range(count)]

    def subscribe(self, channel: str, **given: Any) -> dict[str, Any]:
        return self.ask("subscribe", channel=channel, **given)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def processes(served: Served, module: str = "bbops_server.data_plane") -> list[int]:
    """Return the processes of a server that run a module."""
    return children(served.process.pid, f"{module} [0-9]")


def address(served: Served) -> str:
    return served.serving["url"].replace("http", "ws", 1) + "/~realtime"


def talker(
    served: Served, token: str = "", headers: Mapping[str, str] | None = None, **given: Any
) -> Talker:
    """Return a client that has connected."""
    made = Talker(address(served), additional_headers=headers, **given)
    reply = made.ask("connect", **({"token": token} if token else {}))
    assert "error" not in reply, reply
    return made


def login(served: Served, user: str, lasts: str = "1h") -> str:
    token: str = served.api.post("/login", json={"user": user, "lasts": lasts}).json()
    return token


def say(served: Served, room: str, text: str) -> None:
    assert served.api.post("/say", json={"topic": room, "text": text}).status_code == 204


@contextmanager
def events(
    served: Served, topic: str, headers: Mapping[str, str] | None = None
) -> Iterator[tuple[httpx.Response, Iterator[dict[str, str]]]]:
    """Yield a stream of events: its response, and what comes."""
    path = f"/~realtime/{topic}"
    with served.api.stream("GET", path, headers=dict(headers or {})) as response:
        yield response, read_events(response.iter_lines())


def read_events(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """Yield events as the HTML standard reads them; comments stay out, a bare `id` comes."""
    found: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            found[name] = value
        elif not line and found:
            yield found
            found = {}


async def everything_else() -> None:
    """Wait for what a client goes on with after `disconnect`: it closes its socket in a task."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
