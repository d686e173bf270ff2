"""Parameters of several public tools: none, or a project."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bbops.interfaces.mcp.tool import ToolParams

Id = Annotated[str, msgspec.Meta(description="as in project_list")]


class Nothing(ToolParams, frozen=True):
    """No parameters."""


class Chosen(ToolParams, frozen=True):
    """A project."""

    project_id: Id
