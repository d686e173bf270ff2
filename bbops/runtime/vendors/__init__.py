"""What the steps of addons do: one file for each addon, in the shapes of its vendor.

A release imports the files of the addons that are enabled in it, and no others. Each has `STEPS`,
by their names behind the dot.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from bbops.base.registry import file_name
from bbops.runtime.vendors._work import Addon, Do


def link_addons(
    declared: Mapping[str, Mapping[str, Any]], env: Mapping[str, str | None]
) -> dict[str, Addon]:
    """Return the addons that are enabled, with the values of their settings.

    Args:
        declared: by addon `enabled`, and `config` with (name of a variable or "", text) by key.
        env: the values of the project's variables.
    """
    return {
        name: Addon(
            {key: env.get(variable) if variable else text
             for key, (variable, text) in one["config"].items()},
            find_steps(name),
        )
        for name, one in declared.items() if one["enabled"]
    }  # fmt: skip


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


def module_of(addon: str) -> str:
    """Return the name of the module that does the steps of an addon, whether it exists or not."""
    return f"{__name__}.{file_name(addon)}"
