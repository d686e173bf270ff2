"""A talk with an agent on a terminal: print what it says, and ask about its calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.base.render import printable
from bbops.interfaces.cli._agent_lines import answer_text, call_text

if TYPE_CHECKING:
    from bbops.interfaces.client.agent_chat import AgentChat, ChatEvent

_LOOK_SECONDS: Final = 0.3
_UNDER_WAY: Final = frozenset({"queued", "running"})


@dataclass(slots=True)
class AgentTalk:
    """A talk with an agent.

    Attributes:
        decide: decides about a call as a member of the project.
        is_user: whether the chat has a user, who decides about its calls; a visitor does not.
        asks: whether questions about calls can be answered here.
        prints: whether the agent's texts are printed as they come.
        chat: the id of the chat; empty until the first message.
    """

    client: AgentChat
    decide: Callable[[str, bool], None]
    is_user: bool
    asks: bool
    prints: bool
    chat: str = ""
    _said: str = field(default="")

    def send(self, message: str) -> dict[str, Any]:
        """Send a message, print its turn, and return `{chat, answer, approvals}`.

        Calls that need an approval become questions; without answers here, they are returned.

        Raises:
            BbopsError: the API or the agent refuses, or the turn fails.
        """
        result = self._follow(self.client.send(message, self.chat))
        self.chat = result["chat"]
        while result["approvals"] and self.asks:
            call = result["approvals"][0]
            question = f"approve {call_text(call['tool'], call['arguments'])}?"
            is_approved = click.confirm(question, err=True)
            result = self._decide(call["id"], is_approved=is_approved)
        return result

    def _decide(self, call: str, *, is_approved: bool) -> dict[str, Any]:
        if self.is_user:
            return self._follow(self.client.decide(call, is_approved=is_approved))
        self.decide(call, is_approved)
        return self._wait(call)

    def _wait(self, decided: str) -> dict[str, Any]:
        """Return the result of a turn that a member's decision continues."""
        while True:
            found = self.client.show(self.chat)
            waiting = [call for call in found["approvals"] if call["id"] != decided]
            if found["state"] in _UNDER_WAY or (found["state"] == "waiting" and not waiting):
                time.sleep(_LOOK_SECONDS)  # chats of visitors have no events about it
                continue
            if found["state"] not in {"done", "waiting"}:
                hint = "'bbops agents traces' shows the reason"
                raise ServerError(f"the turn has ended: {found['state']}", hint=hint)
            answer = found["messages"][-1]["text"] if found["state"] == "done" else None
            return self._end({"chat": self.chat, "answer": answer, "approvals": waiting})

    def _follow(self, events: Iterator[ChatEvent]) -> dict[str, Any]:
        self._said, result = "", dict[str, Any]()
        for name, data in events:
            if name == "chat":
                self.chat = data["chat"]
            elif name == "text":
                self._said = data["text"]
                self._print(printable(data["text"]))
            elif name == "tool" and self.prints:
                click.echo(f"  {_tool_line(data)}", err=True)
            elif name == "done":
                result = data
        return self._end(result)

    def _end(self, result: dict[str, Any]) -> dict[str, Any]:
        answer = result["answer"]
        if answer is not None and answer != self._said:
            self._print(printable(answer_text(answer)))
        return result

    def _print(self, text: str) -> None:
        if self.prints:
            say(text)


def _tool_line(data: dict[str, Any]) -> str:
    failed = " failed" if data.get("isError") else ""
    return click.style(f"{printable(str(data.get('tool')))}{failed}", dim=True)
