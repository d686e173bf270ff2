"""How jobs run: what triggers, tasks and functions say of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bbops.base.model import Model
from bbops.base.names import Duration
from bbops.language.expressions.values import BareField

Priority = Literal["high", "normal", "low"]


class Lane(Model):
    """Jobs of one key take turns: `limit` of them run at a time, and with one, in order."""

    key: BareField
    limit: Annotated[int, Field(ge=1, le=50)] = 1


class Retry(Model):
    """How often a failing run is tried, and how long it waits before the second one."""

    attempts: Annotated[int, Field(ge=1, le=100)] = 3
    backoff: Duration = "1s"
    factor: Annotated[float, Field(ge=1, le=10)] = 2


class Job(Model):
    """How the jobs run that a step `enqueue` makes of a function; `key` of `lane` reads `input`."""

    lane: Lane | None = None
    priority: Priority = "normal"
    timeout: Duration | None = None
    retry: Retry | None = None
