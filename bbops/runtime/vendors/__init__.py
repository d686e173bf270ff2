"""What the steps of addons do: one file for each addon, in the shapes of its vendor.

A release imports the files of the addons that are enabled in it, and no others. Each has `STEPS`,
by their names behind the dot.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from bbops.base.host import Host
from bbops.base.registry import file_name
from bbops.runtime.vendors._probe import Probe
from bbops.runtime.vendors._work import Addon, Do

SHORTEST = 6
"""Characters of a value that messages leave out; a shorter one stands in any text."""


def link_addons(
    declared: Mapping[str, Mapping[str, Any]], env: Mapping[str, str | None],
    host: Host | None = None,
) -> dict[str, Addon]:  # fmt: skip
    """Return the addons that are enabled, with the values of their settings.

    Args:
        declared: by addon `enabled`, `config` with (name of a variable or "", text) by key, and
            `own` of one that is the project's.
        env: the values of the project's variables.
        host: the doors of the release; without it an addon keeps nothing.
    """
    return {
        name: link_addon(name, one, env.get, host)
        for name, one in declared.items() if one["enabled"]
    }  # fmt: skip


def link_addon(
    name: str, declared: Mapping[str, Any], value_of: Callable[[str], str | None],
    host: Host | None = None,
) -> Addon:  # fmt: skip
    """Return one addon, whether it is enabled or not; `value_of` gives the value of a variable."""
    config = {
        key: value_of(variable) if variable else text
        for key, (variable, text) in declared["config"].items()
    }
    values = (value_of(variable) for variable, _ in declared["config"].values() if variable)
    hidden = sorted({one for one in values if one and len(one) >= SHORTEST}, key=len, reverse=True)
    own = declared.get("own")
    if own is None:
        steps, probe = find_steps(name), find_probe(name)
        module = sys.modules.get(module_of(name))
        keep, streams = getattr(module, "KEEP", None), getattr(module, "STREAMS", {})
        kept = keep(config, host) if keep and host else None
        return Addon(config, steps, kept, tuple(hidden), streams, probe=probe)
    from bbops.runtime.vendors._declared import link_own, probe_own  # noqa: PLC0415 - few have any

    return Addon(config, link_own(own), hidden=tuple(hidden), keeps_null=True, probe=probe_own(own))


def find_steps(addon: str) -> Mapping[str, Do]:
    """Return what the steps of an addon do, by their names; empty where this version has none."""
    module = module_of(addon)
    try:
        steps: Mapping[str, Do] = importlib.import_module(module).STEPS
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return {}
    return steps


def find_probe(addon: str) -> Probe | None:
    """Return what tests the connection of an addon of the catalog; None where it has none."""
    if not find_steps(addon):
        return None
    found: Probe | None = getattr(importlib.import_module(module_of(addon)), "PROBE", None)
    return found


def module_of(addon: str) -> str:
    """Return the name of the module that does the steps of an addon, whether it exists or not."""
    return f"{__name__}.{file_name(addon)}"
