"""addon_list: the integrations that functions have steps for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import msgspec

from bbops.base.diagnostics import suggest
from bbops.interfaces.mcp.tool import McpTool, NextCall, ToolError, ToolParams, ToolResult
from bbops.runtime.vendors import find_steps
from bbops_server.mcp.public_context import PublicContext

if TYPE_CHECKING:
    from bbops.language.addons._base import AddonKind


class AddonListParams(ToolParams, frozen=True):
    """An addon, or none for all addons."""

    addon: Annotated[str, msgspec.Meta(description="an id, for its steps in detail")] = ""


class Parameter(msgspec.Struct, frozen=True):
    """One parameter of a step; `takes` are types."""

    name: str
    takes: str
    required: bool
    description: str


class Step(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A step; with its parameters and an example if one addon is requested.

    Attributes:
        not_supported: this version does not run it yet.
    """

    name: str
    purpose: str
    not_supported: bool = False
    parameters: list[Parameter] = []
    example: str = ""


class Addon(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """An addon: the keys of `addons/<id>.yaml`, and the secrets among them.

    Attributes:
        service: the service that its steps call; empty if they run on the server.
        key_source: the page that creates its key.
        not_supported: this version runs none of its steps yet.
    """

    id: str
    title: str
    purpose: str
    config: list[str]
    secrets: list[str]
    steps: list[Step]
    url: str
    service: str = ""
    key_source: str = ""
    not_supported: bool = False
    example: str = ""


class Addons(ToolResult, frozen=True):
    """Addons by id."""

    addons: list[Addon]


async def show(at: PublicContext, wanted: AddonListParams) -> Addons:
    """List the addons."""
    known = await asyncio.to_thread(_read_addons)
    if not wanted.addon:
        first = NextCall("addon_list", {"addon": next(iter(known))}, "one addon in detail")
        return Addons(addons=[_addon(at, id_, kind) for id_, kind in known.items()], next=[first])
    if wanted.addon not in known:
        raise ToolError(
            f"there is no addon '{wanted.addon[:64]}'", hint=suggest(wanted.addon, known),
            next=(NextCall("addon_list"), NextCall("docs_search", {"query": "http step"})),
        )  # fmt: skip
    return Addons(addons=[_in_detail(at, wanted.addon, known[wanted.addon])])


def _read_addons() -> Mapping[str, AddonKind]:
    from bbops.language.addons._base import kinds  # noqa: PLC0415 - the language, which few ask about

    return kinds()


def _is_unsupported(id_: str, action: str = "") -> bool:
    steps = find_steps(id_)
    return action not in steps if action else not steps


def _addon(at: PublicContext, id_: str, kind: AddonKind) -> Addon:
    steps = [
        Step(f"{id_}.{name}", action.summary, _is_unsupported(id_, name))
        for name, action in kind.actions.items()
    ]
    return Addon(
        id_, kind.title, kind.summary, list(kind.needs_config), sorted(kind.secrets), steps,
        at.link(f"/docs/language/addons/{id_}.md"), kind.service, kind.key_source,
        _is_unsupported(id_),
    )  # fmt: skip


def _in_detail(at: PublicContext, id_: str, kind: AddonKind) -> Addon:
    steps = [
        Step(
            f"{id_}.{name}", action.summary, _is_unsupported(id_, name),
            [Parameter(p.name, p.takes, p.required, p.description) for p in action.parameters],
            action.example,
        )
        for name, action in kind.actions.items()
    ]  # fmt: skip
    return msgspec.structs.replace(_addon(at, id_, kind), steps=steps, example=kind.config_example)


TOOL = McpTool(
    "addon_list",
    "Integrations",
    "Integrations that functions have steps for; with an id, in detail with examples. Optional.",
    AddonListParams,
    Addons,
    show,
    scope="",
)
