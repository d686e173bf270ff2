"""Lines about agents, their runs and their calls, and chats with agents in the terminal.

Texts of agents come from outside, so all are escaped. Tokens are those that the model has read and
written.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from bbops.base.console import say
from bbops.base.errors import ServerError
from bbops.base.json_work import AgentCall, AgentRun, AgentRunStory, AgentStep, AgentUsage
from bbops.base.moments import shown_time
from bbops.base.render import one_line, plural, printable

if TYPE_CHECKING:
    from bbops.interfaces.client.agent_chat import AgentChat, ChatEvent
    from bbops.review.outline.outline import AgentOutline


_COLORS: Final = {
    "done": "green", "running": "cyan", "queued": "cyan", "waiting": "yellow", "held": "yellow",
    "failed": "red",
}  # fmt: skip
_INDENT: Final = "\n    "


class ListedAgent(msgspec.Struct, frozen=True):
    """An agent of a project's files.

    Attributes:
        approvals: the tools whose calls may need an approval.
        usage: its runs of the last day; None without a server.
    """

    name: str
    description: str
    addon: str
    model: str
    starts: tuple[str, ...]
    tools: tuple[str, ...]
    approvals: tuple[str, ...]
    enabled: bool
    usage: AgentUsage | None

    @classmethod
    def of(cls, agent: AgentOutline, usage: AgentUsage | None) -> ListedAgent:
        """Return an agent with its usage."""
        return cls(
            agent.name, agent.description, agent.addon, agent.model, agent.starts, agent.tools,
            tuple(approval.tool for approval in agent.approvals), agent.enabled, usage,
        )  # fmt: skip


def agent_line(agent: ListedAgent) -> str:
    """Return the lines of an agent in a list."""
    tools = (f"{tool} (approval)" if tool in agent.approvals else tool for tool in agent.tools)
    off = "" if agent.enabled else "  not enabled"
    lines = [
        f"{printable(agent.name)}  {agent.addon} {one_line(agent.model)}{off}",
        f"starts  {', '.join(agent.starts)}",
        f"tools   {', '.join(tools) or 'none'}",
    ]
    if agent.usage is not None:
        lines.append(f"day     {_usage(agent.usage)}")
    return _INDENT.join(lines)


def run_line(run: AgentRun) -> str:
    """Return the lines of a run in a list."""
    state = click.style(f"{run.state:<7}", fg=_COLORS.get(run.state))
    parts = [shown_time(run.began_at), state, printable(run.name), tokens(run)]
    line = "  ".join(parts)
    return f"{line}{_INDENT}{one_line(run.error)}" if run.error else line


def call_line(call: AgentCall) -> str:
    """Return the lines of a call that waits for an approval."""
    head = f"{shown_time(call.asked_at)}  {printable(call.id)}  {printable(call.run)}"
    return f"{head}{_INDENT}{call_text(call.tool, call.arguments)}"


def call_text(tool: str, arguments: Any) -> str:
    """Return a call as one line, such as `notes/add {"text": "tea"}`."""
    return f"{printable(tool)} {one_line(_json(arguments))}"


def story_lines(story: AgentRunStory) -> Iterator[str]:
    """Yield the story of a run, a line for each step and call."""
    run = story.run
    yield run_line(run)
    if run.chat:
        yield f"chat      {printable(run.chat)}  user {one_line(run.owner) or '-'}"
    for step in story.steps:
        yield from _step_lines(step)
    for call in story.calls:
        yield f"approval  {call.state:<8}  {call_text(call.tool, call.arguments)}"
        if call.decided_by:
            yield f"          by {one_line(call.decided_by)}"
        elif call.state == "waiting":
            yield f"          'bbops agents approve {printable(call.id)}' decides"
    if run.state == "done":
        yield f"answer    {one_line(answer_text(story.answer))}"


def answer_text(answer: Any) -> str:
    """Return an answer: its text, or JSON."""
    return answer if isinstance(answer, str) else _json(answer)


def tokens(run: AgentRun) -> str:
    """Return the tokens and the price of a run."""
    spent = f"{run.tokens_in:,} + {run.tokens_out:,} tokens"
    return f"{spent}  {run.money:g}" if run.money else spent


def _step_lines(step: AgentStep) -> Iterator[str]:
    if step.kind == "message":
        yield f"message   {one_line(step.text)}"
        return
    if step.kind == "model":
        took = f"({step.ms} ms, {step.tokens_in:,} + {step.tokens_out:,} tokens)"
        yield f"model     {one_line(step.text)}{' ' if step.text else ''}{took}"
        for call in step.calls:
            yield f"          calls {call_text(str(call['tool']), call['arguments'])}"
        return
    failed = click.style("failed: ", fg="red") if step.is_error else ""
    yield f"tool      {call_text(step.tool, step.arguments)} ({step.ms} ms)"
    yield f"          {failed}{one_line(step.text)}"


def _usage(usage: AgentUsage) -> str:
    failed = f", {usage.failed} failed" if usage.failed else ""
    money = f", {usage.money:g} of money" if usage.money else ""
    spent = f"{usage.tokens_in + usage.tokens_out:,} tokens"
    return f"{plural(usage.runs, 'run')}{failed}, {spent}{money}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# ---- chats in the terminal: print the agent's answers, and confirm its calls

_LOOK_SECONDS: Final = 0.3
_UNDER_WAY: Final = frozenset({"queued", "running"})


@dataclass(slots=True)
class AgentTalk:
    """A chat with an agent in the terminal.

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
