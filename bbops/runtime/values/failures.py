"""What a running function raises.

* Failure                 has a status, a code and a message for the client
  + Thrown                the author's `throw`, or an answer the server gives by itself
  + InvalidInput          400: every wrong field with its messages
  + DatabaseFailure       a broken rule of the database, by table and columns
  + Unavailable           503: the database cannot do it now, whatever the request
    + Conflict            another transaction came between
  + FlowError             a mistake in the function itself: the client sees only a 500
    + JobFailure          a job meets a limit: it takes too long, goes too deep, gives too much
    + BadValue            400: of the right type, but none that the step can do anything with
      + WrongKind         a json value is of another kind than the step takes
      + BadHeader           a header that cannot be sent
      + TooLong           a text is longer than its column, or a search, takes
    + OutOfFuel           more loop rounds or calls than a run may spend
    + Late                a step took longer than its `timeout`
    + StatementTimeout    503: a statement took longer than any may
    + HttpFailure         another server cannot be asked, or answered that it went wrong
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

DatabaseCode = Literal["unique", "foreignKey", "notNull", "check"]


class Nothing:
    """The type of NOTHING."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final = Nothing()
"""Stands for a value that was left out, where null is a value of its own."""


class Failure(Exception):
    """Something a request answers with, instead of its function's value."""

    status = 500
    code = "serverError"
    retry_after: float | None = None
    """Seconds after which the same again may go well, where another server says so."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def may_pass(self) -> bool:
        """Whether the same again may go well: what `retry` is for."""
        return self.status in _PASSING


_PASSING: Final = frozenset({408, 425, 429, 502, 503, 504})


class Thrown(Failure):
    """A deliberate answer: `throw`, or 401, 404 and their like."""

    def __init__(
        self,
        status: int,
        message: str | None = None,
        *,
        code: str | None = None,
        value: Any = NOTHING,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message or "")
        self.status, self.value, self.headers = status, value, headers or {}
        self.code = code or ""


class InvalidInput(Failure):
    """The request's values break the declared shape: field path → list of messages."""

    status = 400
    code = "invalidInput"

    def __init__(self, fields: Mapping[str, Sequence[str]], message: str = "") -> None:
        super().__init__(message or "the request has invalid values")
        self.fields = {path: list(texts) for path, texts in fields.items()}


class DatabaseFailure(Failure):
    """A row breaks a rule of its table. `columns` is empty where the rule spans none."""

    def __init__(
        self, code: DatabaseCode, table: str, columns: Sequence[str], message: str
    ) -> None:
        super().__init__(message)
        self.code, self.table, self.columns = code, table, tuple(columns)
        self.status = 409 if code in {"unique", "foreignKey"} else 400


class Unavailable(Failure):
    """The database cannot do it now: the disk is full, another program holds the lock.

    `hint` is the cure, for the log; the client hears when to come back.
    """

    status = 503

    def __init__(self, code: str, message: str, *, hint: str, retry_seconds: int) -> None:
        super().__init__(message)
        self.code, self.hint, self.retry_seconds = code, hint, retry_seconds


class Conflict(Unavailable):
    """Another transaction came between; nothing was done, and the same again may go well."""

    def __init__(self) -> None:
        super().__init__(
            "storageBusy", "other transactions change the same rows",
            hint="keep transactions short, and change rows in one order everywhere",
            retry_seconds=1,
        )  # fmt: skip


class FlowError(Failure):
    """The function did something that cannot be done, for example `1 + null`."""


class JobFailure(FlowError):
    """A job, or what makes one, meets a limit of background work; `code` says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class PayloadFailure(JobFailure):
    """A job's payload does not fit its function, and every attempt would read the same one."""

    def __init__(self, message: str) -> None:
        super().__init__("payloadInvalid", message)


class BadValue(FlowError):
    """A value of the right type that cannot be computed with, such as a divisor of zero.

    Types do not tell these apart, so what a client sends may be one: it is answered with 400.

    Attributes:
        fields: as those of InvalidInput; empty where nobody knows where the value comes from.
    """

    status = 400
    code = "invalidInput"

    def __init__(self, message: str, field: str = "", said: str = "") -> None:
        """Args: `said` is what the client reads, where `message` holds a value."""
        super().__init__(message)
        self.said = said or message
        self.fields = {field: [self.said]} if field else {}

    def blame(self, field: str) -> None:
        """Name the field of the request that the value comes from, unless it is known."""
        self.fields = self.fields or {field: [self.said]}


class WrongKind(BadValue):
    """A value of another kind than a step takes, such as a map where a number is added.

    Types are known before anything runs, so it is a json value, mostly from a client.
    """

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message, field, "a value has the wrong type")


class BadHeader(BadValue):
    """A header that a step cannot send, for its name or its value."""

    code = "httpInvalid"


class TooLong(BadValue):
    """A text has more than `most` characters."""

    def __init__(self, field: str, most: int, message: str) -> None:
        self.text = f"must have at most {most} characters"
        super().__init__(message, field)
        self.fields = {field: [self.text]} if field else {}
        self.most = most


class OutOfFuel(FlowError):
    """The function spent its loop rounds or its depth of calls."""


class LoopLimit(FlowError):
    """A loop with `while` goes on after its `max` rounds."""

    code = "loopLimit"

    def __init__(self, most: int) -> None:
        super().__init__(f"the loop goes on after {most} rounds, its 'max'")


class Late(FlowError):
    """A step took longer than its `timeout`; it `repeats` where it may be done twice."""

    code = "timeout"

    def __init__(self, seconds: float, *, repeats: bool = True) -> None:
        super().__init__(f"it took longer than {seconds:g} s")
        self.repeats = repeats

    @property
    def may_pass(self) -> bool:
        """Whether the step may be run again: nobody knows how far it came."""
        return self.repeats


class StatementTimeout(FlowError):
    """The database ended a statement that took longer than any may."""

    status = 503
    code = "statementTimeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the statement was ended after {seconds:g} s")


class HttpFailure(FlowError):
    """Another server gave no good answer.

    Codes: `httpFailed` (another status), `httpTimeout`, `httpUnreachable`, `httpRefused` (the
    address is not allowed), `httpTooLarge`, `httpInvalid` (the request cannot be sent).

    Attributes:
        answered: the status it got, if it got one.
        reason: the vendor's own code of the error, such as `card_declined`.
        is_sent: there is no answer, but the request may have been carried out.
        repeats: a request that may have been carried out may be sent again.
        passes: whether the same again may go well, where the status does not tell.
    """

    def __init__(
        self, code: str, message: str, *, answered: int | None = None, reason: str | None = None,
        retry_after: float | None = None, is_sent: bool = False, repeats: bool = True,
        passes: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code, self.answered, self.reason, self.passes = code, answered, reason, passes
        self.retry_after, self.is_sent, self.repeats = retry_after, is_sent, repeats

    @property
    def may_pass(self) -> bool:
        """Whether the same again may go well: not for a 404, and no payment is made twice."""
        if self.passes is not None:
            return self.passes
        if self.answered is None:
            return self.code in _WITHOUT_ANSWER and (self.repeats or not self.is_sent)
        return self.answered in (_PASSING_OUTSIDE if self.repeats else _UNDONE)


_WITHOUT_ANSWER: Final = frozenset({"httpTimeout", "httpUnreachable"})

_PASSING_OUTSIDE: Final = _PASSING | {500, *range(520, 525), 529}
"""520 to 524 are of a proxy that cannot reach the server behind it, 529 of one with much to do."""

_UNDONE: Final = frozenset({429, 503, 529})
"""Statuses by which a server says that it has not begun."""
