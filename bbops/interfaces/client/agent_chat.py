"""A client for chats with a project's agents: `POST /~agents/NAME`, read as server-sent events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import httpx
import msgspec

from bbops.base.addresses import check_address, is_here, is_https
from bbops.base.errors import ServerAway, ServerError
from bbops.interfaces.client.connection import TIMEOUT_SECONDS, reason_of, require_https

SILENCE_SECONDS: Final = 60.0
"""The longest pause between two events: the server sends a comment every 15 seconds."""

_EVENTS: Final = "text/event-stream"
_HINTS: Final = {
    "held": "run the jobs of the draft with 'bbops drafts work BRANCH'",
    "chatBusy": "wait for the turn, or decide about its calls with 'bbops agents approve'",
    "agentFailed": "'bbops agents traces' shows the reason",
    "timeout": "'bbops agents traces' shows how far the turn is",
    "agentLimit": "'bbops agents traces' shows the run; its file has the limits",
}


class ChatEvent(NamedTuple):
    """An event of a turn: `chat`, `text`, `tool`, `approval` or `done`, with its data."""

    name: str
    data: Any


class AgentChat:
    """A client for the chats of an agent. Use it in a `with` block, or close it."""

    def __init__(self, url: str, agent: str, *, token: str = "", draft_token: str = "") -> None:
        """Make a client.

        Args:
            url: the URL of the project's API.
            agent: the name of the agent.
            token: a token of a user of the project; empty for a visitor.
            draft_token: a token for a draft; empty for live.

        Raises:
            ServerError: the URL is not valid, or a token would be sent without https.
        """
        base = check_address(url)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        headers |= {"x-draft-token": draft_token} if draft_token else {}
        if headers:
            require_https(base)
        self._url, self._agent = f"{base}/~agents/{quote(agent, safe='')}", agent
        self._client = httpx.Client(
            timeout=httpx.Timeout(TIMEOUT_SECONDS, read=SILENCE_SECONDS), headers=headers,
            trust_env=not is_here(base), verify=is_https(base),
        )  # fmt: skip

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(self, message: str, chat: str = "") -> Iterator[ChatEvent]:
        """Send a message, and yield the events of its turn; the last one is `done`.

        Args:
            message: the text.
            chat: the id of a chat; empty for a new one.

        Raises:
            ServerError: the API cannot be reached, refuses, or the turn fails.
        """
        body = {"message": message, **({"chat": chat} if chat else {})}
        yield from self._stream("", body)

    def decide(self, call: str, *, is_approved: bool) -> Iterator[ChatEvent]:
        """Approve or reject a call as the user of the chat; yields and raises as `send`."""
        yield from self._stream(f"/approvals/{quote(call, safe='')}", {"approve": is_approved})

    def show(self, chat: str) -> dict[str, Any]:
        """Return `{chat, state, messages, approvals}` of a chat. Raises as `send`."""
        try:
            response = self._client.get(f"{self._url}/chats/{quote(chat, safe='')}")
        except httpx.TransportError as error:
            raise self._away(error) from None
        if not response.is_success:
            raise self._refusal(response.status_code, _decode(response.content))
        found: dict[str, Any] = _decode(response.content)
        return found

    def _stream(self, path: str, body: Mapping[str, Any]) -> Iterator[ChatEvent]:
        headers = {"accept": _EVENTS}
        try:
            with self._client.stream(
                "POST", self._url + path, json=body, headers=headers
            ) as response:
                if response.status_code == httpx.codes.NOT_FOUND and body.keys() == {"message"}:
                    raise self._missing()
                if not response.is_success:
                    raise self._refusal(response.status_code, _decode(response.read()))
                yield from self._read(response.iter_lines())
        except httpx.TransportError as error:
            raise self._away(error) from None

    def _read(self, lines: Iterable[str]) -> Iterator[ChatEvent]:
        """Yield events. Raises: ServerError: the turn failed, or the response ended early."""
        for event in read_events(lines):
            if event.name == "error":
                raise self._refusal(httpx.codes.OK, event.data)
            yield event
            if event.name == "done":
                return
        raise ServerAway(f"the response of '{self._url}' ended before the turn did")

    def _refusal(self, status: int, body: Any) -> ServerError:
        found = body if isinstance(body, dict) else {}
        found = found["error"] if isinstance(found.get("error"), dict) else found
        code, reason = found.get("code", ""), found.get("message", "")
        if status == httpx.codes.UNAUTHORIZED:
            hint = "give a token of a user of the project as BBOPS_PROJECT_TOKEN"
            return ServerError(f"the chat with '{self._agent}' is for users who sign in", hint=hint)
        text = reason or code or f"it answered {status}"
        return ServerError(f"the agent '{self._agent}' refused: {text}", hint=_HINTS.get(code, ""))

    def _missing(self) -> ServerError:
        hint = "'bbops agents list' shows the agents; one with 'runsOn.chat' has a chat"
        return ServerError(f"'{self._agent}' is not an agent with a chat here", hint=hint)

    def _away(self, error: httpx.TransportError) -> ServerAway:
        return ServerAway(f"cannot reach '{self._url}': {reason_of(error)}")


def read_events(lines: Iterable[str]) -> Iterator[ChatEvent]:
    """Yield the server-sent events of lines; comments and events without data are left out.

    Source: the HTML standard, "Server-sent events". Data is JSON in one line here.
    """
    name, data = "", ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data = line.removeprefix("data: ")
        elif not line:
            if name and data:
                yield ChatEvent(name, _decode(data.encode()))
            name, data = "", ""


def _decode(content: bytes) -> Any:
    """Return a value of JSON, or None if it is not JSON."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
