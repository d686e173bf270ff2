"""How jobs run: the settings of triggers, tasks and functions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bbops.base.model import Model
from bbops.base.names import Duration
from bbops.language.expressions.values import BareField
from bbops.language.resources._kind import FunctionName

Priority = Literal["high", "normal", "low"]


class Lane(Model):
    """Jobs with the same key take turns: `limit` of them run at a time, and with 1, in order."""

    key: BareField
    limit: Annotated[int, Field(ge=1, le=50)] = 1


class Unique(Model):
    """An event whose key another job has had within `for` runs nothing."""

    key: BareField
    for_: Duration = Field(default="24h", alias="for")


class Debounce(Model):
    """Only the last of several events with the same key runs, after a pause of `for`."""

    key: BareField
    for_: Duration = Field(alias="for")


class Retry(Model):
    """How often a failing run is tried, and how long it waits before the second one.

    Without `retry`, a run has 5 attempts: the second one after 5 s, and each wait is three times
    the one before, at most an hour. With it, a key that is left out has the value below.
    """

    attempts: Annotated[int, Field(ge=1, le=100)] = 3
    backoff: Duration = "1s"
    factor: Annotated[float, Field(ge=1, le=10)] = 2


class Job(Model):
    """How the jobs run that a step `enqueue` makes of a function; `key` of `lane` reads `input`.

    `onDead` is a function that runs when a job has failed for the last time, with the event
    `bbops.job-dead`.
    """

    lane: Lane | None = None
    priority: Priority = "normal"
    timeout: Duration | None = None
    retry: Retry | None = None
    on_dead: FunctionName | None = None
