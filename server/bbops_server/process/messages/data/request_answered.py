"""A request was answered: what `bbops dev` prints."""

from __future__ import annotations

from bbops_server.process.messages.request import Event


class RequestAnswered(Event, frozen=True):
    """A request was answered: what `bbops dev` prints.

    Attributes:
        path: without secrets, and without the query.
        status: 0 where the client left before its answer began.
        code: of the error; empty without one.
        at: file and line of the step that failed.
        missed: how many before it were too many to be reported.
    """

    method: str
    path: str
    status: int
    milliseconds: float
    code: str = ""
    at: str = ""
    missed: int = 0
