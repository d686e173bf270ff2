"""function: steps, and the shapes of what they are given."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import StringConstraints

from bbops.model import Model
from bbops.shape import Field, Shape
from bbops.steps._base import Steps

Status = Annotated[str, StringConstraints(pattern=r"^[2-5][0-9][0-9]$")]


class Function(Model):
    """Steps, and the shapes of what they are given.

    - It runs for endpoints, as middleware, for tasks, triggers and agents, and through `call`. What
      it may read is what all of its ways give: `vars.auth` only where each of them has JWT, the
      request only where each of them is a request, `event` and `trigger` only behind triggers.
    - `input` is the body, `query` and `params` are parts of the address, `payload` is what an event
      brings. `name: type` must be there, `name?: type` may be left out, `type?` may be null. What
      does not fit is answered with 400 and every wrong field; what is not declared is dropped.
    - A path parameter that it needs stands in every path that leads to it. What no shape declares
      of `query` and `params` arrives as text; of `input` nothing does.
    - The types of `input`, `query`, tables and steps flow through the whole function: `bbops
      validate` refuses what would fail, at its line and column.
    - A function may run 100,000 rounds of loops and calls in all, and call 32 deep.
    """

    folder: ClassVar[str] = "functions"

    description: str | None = None
    input: Shape | None = None
    query: Shape | None = None
    params: Shape | None = None
    payload: Shape | None = None
    output: dict[Status, Field] = {}
    steps: Steps
