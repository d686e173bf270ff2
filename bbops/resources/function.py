"""function: steps, and the shapes of what they are given."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import StringConstraints

from bbops.model import Model
from bbops.shape import Field, Shape
from bbops.steps._base import Steps

Status = Annotated[str, StringConstraints(pattern=r"^[2-5][0-9][0-9]$")]


class Function(Model):
    """Runs for an endpoint, as middleware, by itself, or through `call`.

    `payload` is what the event of a trigger brings; `output` says what each status answers.
    """

    folder: ClassVar[str] = "functions"

    description: str | None = None
    input: Shape | None = None
    query: Shape | None = None
    params: Shape | None = None
    payload: Shape | None = None
    output: dict[Status, Field] = {}
    steps: Steps
