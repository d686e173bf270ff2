"""Find the members of an open family: one module per member, in one package.

Dropping a file into `bbops/steps/` is the whole registration. A module whose name begins with an
underscore is not a member; a trailing one keeps clear of Python's words (`if_.py` is `if`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType


def members(package: str) -> Iterator[tuple[str, ModuleType]]:
    """Yield (file name as camelCase, module) of each member, in name order; imports them all."""
    path = importlib.import_module(package).__path__
    for info in sorted(pkgutil.iter_modules(path), key=lambda found: found.name):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"{package}.{info.name}")
            yield camel(info.name), module


def camel(file_name: str) -> str:
    """Return `generateAuthToken` for `generate_auth_token`, `if` for `if_`."""
    first, *rest = file_name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def file_name(name: str) -> str:
    """Return `chat_model` for `chatModel`: what `camel` makes of it is the name again."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
