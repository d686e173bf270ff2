"""The schemes of webhooks by forge: each module with `KINDS` has one."""

from __future__ import annotations

from functools import cache
from typing import cast

from bbops.base.registry import members
from bbops_server.forges.hooks import HookScheme
from bbops_server.settings.forge_binding import ForgeKind


@cache
def find_schemes() -> dict[ForgeKind, HookScheme]:
    """Return the scheme of each kind of forge."""
    return {
        kind: cast("HookScheme", module)
        for _, module in members(__package__)
        for kind in getattr(module, "KINDS", ())
    }
