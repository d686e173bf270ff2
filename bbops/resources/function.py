"""function: steps, and the shapes of what they are given."""

from __future__ import annotations

from typing import ClassVar

from bbops.model import Model
from bbops.resources._shape import Shape
from bbops.steps._base import Steps


class Function(Model):
    """Runs for an endpoint, as middleware, or through `call`."""

    folder: ClassVar[str] = "functions"

    description: str | None = None
    input: Shape | None = None
    query: Shape | None = None
    params: Shape | None = None
    steps: Steps
