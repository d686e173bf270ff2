"""What the steps of addons do: one file for each addon, in the shapes of its vendor.

A release imports the files of the addons that are enabled in it, and no others. Each has `STEPS`,
by their names behind the dot.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

from bbops.registry import file_name
from bbops.runtime.vendors._work import Addon, Do

_REFERENCE = re.compile(r"\$\{ *env\.([A-Z][A-Z0-9_]{0,62}) *\}").fullmatch


def link_addons(
    declared: Mapping[str, Mapping[str, Any]], env: Mapping[str, str | None]
) -> dict[str, Addon]:
    """Return the addons that are enabled, with the values of their settings.

    Args:
        declared: by addon `enabled`, and `config` with texts and `${ env.NAME }`.
        env: the values of the project's variables.
    """
    return {
        name: Addon({key: _value(text, env) for key, text in one["config"].items()}, _steps(name))
        for name, one in declared.items() if one["enabled"]
    }  # fmt: skip


def _value(text: str | None, env: Mapping[str, str | None]) -> str | None:
    found = _REFERENCE(text) if text else None
    return env.get(found[1]) if found else text


def _steps(addon: str) -> Mapping[str, Do]:
    module = f"{__name__}.{file_name(addon)}"
    try:
        steps: Mapping[str, Do] = importlib.import_module(module).STEPS
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return {}
    return steps
