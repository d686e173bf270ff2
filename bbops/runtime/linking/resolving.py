"""Find what compiled code names, and nothing else."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bbops.runtime.values.filters import FILTERS, FUNCTIONS


def resolve(target: str) -> Any:
    """Return what compiled code names: a filter, a function, or a part of `bbops.runtime`."""
    module, _, name = target.partition(":")
    if module == "filter":
        return FILTERS[name].apply
    if module == "function":
        return FUNCTIONS[name].apply
    if not module.startswith("bbops.runtime."):
        raise ImportError(f"compiled code must not use {target}")
    return getattr(import_module(module), name)
