"""Find resources of a project that this version does not run, from its YAML files.

`bbops.compiler.check` finds them in models; tests compare the two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from bbops.base import registry
from bbops.base.diagnostics import Diagnostic
from bbops.base.model import _unsupported_keys
from bbops.compiler.check._supported import find_unsupported_parts
from bbops.language.loading.load import kinds
from bbops.language.resources._crud import List, is_crud
from bbops.source.yaml.document import load

CODE = "not-supported"


def hide_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the module that runs agents, as in a version without it.

    Undo the patch, then call `forget`.
    """
    monkeypatch.setitem(sys.modules, "bbops.runtime.agents.loop", None)
    forget()


def forget() -> None:
    """Forget which modules exist."""
    for cached in (registry.is_there, find_unsupported_parts, _unsupported_keys):
        cached.cache_clear()


def files_with_unsupported(files: Mapping[str, str]) -> list[str]:
    """Return the path of each file, once for each part of it that this version does not run."""
    return sorted(path for path, text in files.items() for _ in parts_of(path, text))


def parts_of(path: str, text: str) -> Iterator[str]:
    """Yield the parts of one file that this version does not run."""
    absent, (folder, _, name) = find_unsupported_parts(), path.partition("/")
    root = load(text.encode()).root
    if not isinstance(root, dict):
        return
    if folder in absent.kinds:
        yield folder
    elif folder == "addons" and name.removesuffix(".yaml") in absent.addons:
        yield from ["addon"] if root.get("enabled") else []
    elif folder in kinds():
        keys = kinds()[folder].unsupported_keys()
        yield from (key for key in root if key in keys)
    if folder == "endpoints" and is_crud(root) and root["actions"].get("list"):
        yield from (key for key in root["actions"]["list"] if key in List.unsupported_keys())
    if folder == "functions":
        yield from (key for key in keys_in(root) if key in {*absent.steps, *absent.addon_steps})


def keys_in(node: Any) -> Iterator[str]:
    """Yield the keys of maps that stand in lists, where steps do."""
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        if isinstance(node, list) and isinstance(item, dict):
            yield from (key for key in item if isinstance(key, str))
        yield from keys_in(item)


def told_of(found: Iterable[Diagnostic]) -> list[str]:
    """Return the files that diagnostics call not supported, once for each."""
    return sorted(one.place.file for one in found if one.code == CODE)


def others(found: Iterable[Diagnostic]) -> list[str]:
    """Return what else is found."""
    return [str(one) for one in found if one.code != CODE]
