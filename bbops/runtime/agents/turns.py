"""The turns of a conversation: the user and the model alternate, and each call has one result.

Vendors refuse conversations in which a call has no result, or a result has no call. Memory that
starts in the middle of a run and runs that ended between two calls have both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bbops.runtime.agents.conversation import CallResult, Message, ModelMessage, UserMessage

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
