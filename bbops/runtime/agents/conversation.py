"""The conversation of a run: messages, turns and memory, without the shapes of any vendor.

In turns, the user and the model alternate, and each call has one result. Vendors refuse other
conversations. Memory that starts in the middle of a run and runs that ended between two calls are
completed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any, ClassVar, Final, Protocol

import msgspec

from bbops.runtime.agents.values import tool_name


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings of an agent's model.

    Attributes:
        name: the model's name at its vendor.
        max_tokens: the longest answer.
        options: other parameters of the vendor, by its names; they come before ours.
    """

    name: str
    max_tokens: int
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it.

    Attributes:
        name: letters, digits, `_` and `-`, at most 64 characters.
        schema: the JSON schema of its arguments, an object.
    """

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for.

    Attributes:
        id: the vendor's name of the call; the result refers to it.
        arguments: a map; None if the model wrote something else.
        text: the arguments as the model wrote them, where they are not a map.
    """

    id: str
    name: str
    arguments: dict[str, Any] | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of the chat's user, or what has happened."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """An answer of the model.

    Attributes:
        raw: the answer in the vendor's shape, for the next request of the same run; None for
            answers of earlier runs.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    raw: Any = None


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call, as a text that is usually JSON."""

    call: ToolCall
    text: str
    is_error: bool = False


Message = UserMessage | ModelMessage | CallResult


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The result of a request to the model.

    Attributes:
        is_cut: the answer ended at the limit of its tokens.
        tokens_in: the tokens that the model has read, those from a cache as well.
        tokens_out: the tokens that it has written.
    """

    message: ModelMessage
    is_cut: bool
    tokens_in: int
    tokens_out: int


class ModelDialect(Protocol):
    """The shapes of one vendor's protocol: parameters of an addon's step, and its results.

    Attributes:
        step: the step, such as `aiModel.chatCompletion`.
        reserved: options that an agent cannot have.
    """

    step: ClassVar[str]
    reserved: ClassVar[frozenset[str]]

    def write(
        self, model: ModelSettings, instructions: str, messages: Sequence[Message],
        tools: Sequence[ToolSpec],
    ) -> dict[str, Any]:  # fmt: skip
        """Return the parameters of the step. Results of calls follow the message that asked."""
        ...

    def read(self, result: Any) -> ModelAnswer:
        """Return the answer in the step's result.

        Raises:
            AddonFailure: `addon-answer`; it has neither text nor calls, or another form.
        """
        ...


NO_RESULT: Final = '{"error": "the run ended before this call"}'
BLANK: Final = "(empty message)"
"""A user's message without a text: vendors refuse empty messages."""


@dataclass(frozen=True, slots=True)
class UserTurn:
    """The input for an answer of the model.

    Attributes:
        results: the results of the calls in the answer before, in the order of the calls.
        texts: texts that are not blank.
    """

    results: tuple[CallResult, ...]
    texts: tuple[str, ...]


Turn = UserTurn | ModelMessage


def read_turns(messages: Sequence[Message]) -> list[Turn]:
    """Return the turns of a conversation; the first is always the user's.

    - Answers before the first message of the user are left out, and so are blank answers.
    - Results without a call are left out; a call without a result gets an error as its result.
    - Consecutive answers become one, except for answers in the vendor's shape.
    """
    turns: list[Turn] = []
    after: list[UserMessage | CallResult] = []
    for message in messages:
        if not isinstance(message, ModelMessage):
            after.append(message)
        elif not is_blank(message):
            _end_turn(turns, after)
            after = []
            _add_answer(turns, message)
    _end_turn(turns, after)
    return turns or [UserTurn((), (BLANK,))]


def is_blank(message: ModelMessage) -> bool:
    """Return whether an answer has neither text nor calls."""
    return not message.calls and not message.text.strip()


def _end_turn(turns: list[Turn], after: Sequence[UserMessage | CallResult]) -> None:
    """Add the user's turn: the results of the calls before it, and the texts."""
    said = [message.text for message in after if isinstance(message, UserMessage)]
    texts = tuple(text for text in said if text.strip())
    results = _results(turns, after)
    if said and not texts and not results:
        texts = (BLANK,)
    if texts or results:
        turns.append(UserTurn(results, texts))


def _results(
    turns: Sequence[Turn], after: Sequence[UserMessage | CallResult]
) -> tuple[CallResult, ...]:  # fmt: skip
    answer = turns[-1] if turns else None
    if not isinstance(answer, ModelMessage):
        return ()
    found: dict[str, CallResult] = {}
    for message in after:
        if isinstance(message, CallResult):
            found.setdefault(message.call.id, message)
    return tuple(
        found.get(call.id) or CallResult(call, NO_RESULT, is_error=True) for call in answer.calls
    )


def _add_answer(turns: list[Turn], message: ModelMessage) -> None:
    before = turns[-1] if turns else None
    if before is None:
        return
    if isinstance(before, ModelMessage) and before.raw is None and message.raw is None:
        texts = [text for text in (before.text, message.text) if text.strip()]
        turns[-1] = ModelMessage("\n\n".join(texts), message.calls)
    else:
        turns.append(message)


MOST_CHARACTERS: Final = 200_000
"""The most characters of earlier turns that a model sees again."""


def remember(rows: Iterable[Sequence[Any]], most: int) -> list[Message]:
    """Return messages of whole turns, oldest first, as many turns as fit.

    Args:
        rows: run, kind, name and content of steps, newest first; see `tables.MEMORY`.
        most: the most messages.
    """
    found: list[Message] = []
    size = 0
    for _, steps in groupby(rows, key=lambda row: row[0]):
        recorded = [*steps]
        turn = _messages(reversed(recorded))
        size += sum(len(row[3]) for row in recorded)
        if len(found) + len(turn) > most or size > MOST_CHARACTERS:
            break
        found = turn + found
    return found


def _messages(steps: Iterable[Sequence[Any]]) -> list[Message]:
    """Return the messages of one turn: each call of the model is followed by its result."""
    found: list[Message] = []
    for _, kind, name, content in steps:
        told = msgspec.json.decode(content)
        if kind == "message":
            found.append(UserMessage(told["text"]))
        elif kind == "model":
            found.append(ModelMessage(told["text"], tuple(map(_call, told["calls"]))))
        elif kind == "tool":
            found.append(CallResult(_call(told), told["result"], told["isError"]))
        del name
    return _answered(found)


def _answered(messages: list[Message]) -> list[Message]:
    """Return messages without calls that have no result: the answer of a run with a shape."""
    found: list[Message] = []
    for at, message in enumerate(messages):
        if isinstance(message, ModelMessage):
            results = takewhile(lambda after: isinstance(after, CallResult), messages[at + 1 :])
            done = {result.call.id for result in results if isinstance(result, CallResult)}
            open_ = [call for call in message.calls if call.id not in done]
            calls = tuple(call for call in message.calls if call.id in done)
            text = message.text or _written(open_)
            if text or calls:
                found.append(ModelMessage(text, calls))
        else:
            found.append(message)
    return found


def _written(calls: Sequence[ToolCall]) -> str:
    return msgspec.json.encode([call.arguments for call in calls]).decode() if calls else ""


def _call(told: dict[str, Any]) -> ToolCall:
    arguments = told["arguments"]
    if isinstance(arguments, dict):
        return ToolCall(told["id"], tool_name(told["tool"]), arguments)
    return ToolCall(told["id"], tool_name(told["tool"]), None, str(arguments))
