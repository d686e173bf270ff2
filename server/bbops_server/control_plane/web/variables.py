"""Declared variables, and whether each has a value. Values are never read."""

from __future__ import annotations

from typing import Literal

import msgspec

from bbops.base.errors import BbopsError
from bbops.review.outline.outline import Outline, SourceLine, VariableOutline
from bbops_server.control_plane.web.refusals import refuse
from bbops_server.control_plane.web.visit import Visit

State = Literal["set", "generated", "default", "optional", "missing"]


class VariableStatus(msgspec.Struct, frozen=True):
    """A declared variable.

    Attributes:
        state: `set` on this server, `generated` on first use, its `default`, `optional` without
            a value, or `missing`, which stops the next publication.
        command: the command that sets it.
        uses: the lines that read it.
    """

    name: str
    state: State
    secret: bool
    description: str
    command: str
    uses: tuple[SourceLine, ...]


async def find_variables(
    visit: Visit, name: str, slug: str, outline: Outline | None
) -> list[VariableStatus]:
    """Return the variables of an outline with their states.

    Raises:
        HTTPException: the store of values cannot be read.
    """
    declared = outline.variables if outline is not None else ()
    names = [variable.name for variable in declared]
    try:
        if slug:
            drafts = visit.control.outlines.drafts_of(name)
            values = await visit.control.run(drafts.find_values, names)
        else:
            values = await visit.control.run(visit.control.status.find_values, name, names)
    except BbopsError as error:
        raise refuse(error) from None
    return [
        VariableStatus(
            variable.name, _find_state(variable, values), variable.is_secret,
            variable.description, _command(visit, name, variable.name, is_draft=bool(slug)),
            variable.uses,
        )
        for variable in declared
    ]  # fmt: skip


def _find_state(variable: VariableOutline, values: frozenset[str]) -> State:
    if variable.name in values:
        return "set"
    if variable.is_generated:
        return "generated"
    if variable.has_default:
        return "default"
    return "missing" if variable.is_required else "optional"


def _command(visit: Visit, project: str, variable: str, *, is_draft: bool) -> str:
    """Return the command that sets a variable on the server's machine."""
    has_many = len(visit.control.status.projects()) > 1
    command = f"bbops env set {variable}" + (f" --project {project}" if has_many else "")
    return command + (" --drafts" if is_draft else "")
