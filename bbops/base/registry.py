"""Find the members of an open family: one module per member, in one package.

Dropping a file into `bbops/language/steps/` is the whole registration. A module whose name begins
with an underscore is not a member; a trailing one keeps clear of Python's words (`if_.py` is `if`).
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType


def members(package: str) -> Sequence[tuple[str, ModuleType]]:
    """Return (file name as camelCase, module) of each member, in name order.

    The first call looks into the package's folders and imports them all.
    """
    return _members(package, tuple(importlib.import_module(package).__path__))


@cache
def _members(package: str, folders: tuple[str, ...]) -> Sequence[tuple[str, ModuleType]]:
    names = sorted(info.name for info in pkgutil.iter_modules(folders) if info.name[0] != "_")
    return [(camel(name), importlib.import_module(f"{package}.{name}")) for name in names]


def camel(file_name: str) -> str:
    """Return `generateAuthToken` for `generate_auth_token`, `if` for `if_`."""
    first, *rest = file_name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def file_name(name: str) -> str:
    """Return `chat_model` for `chatModel`: what `camel` makes of it is the name again."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


@cache
def is_there(module: str) -> bool:
    """Return whether a module of this version exists. Imports the packages around it only."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # a package around it does not exist either
        return False


def sources(package: str) -> Mapping[str, str]:
    """Return the source of each member by its file's name, without importing any of them."""
    files = [file for folder in importlib.import_module(package).__path__
             for file in sorted(Path(folder).glob("*.py"))]  # fmt: skip
    return {file.stem: file.read_text(encoding="utf-8") for file in files if file.name[0] != "_"}
