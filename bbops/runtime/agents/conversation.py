"""The conversation of a run: messages, tools and answers, without the shapes of any vendor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol


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
