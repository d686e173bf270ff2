"""The addons of a project: their state, and how they are enabled and disabled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.base.names import INLINE, env_name
from bbops.edit.authoring.changing import Change, set_key
from bbops.edit.authoring.making import make
from bbops.edit.authoring.naming import Name
from bbops.language.addons._base import kind as addon_kind
from bbops.language.addons._base import kinds as addon_kinds
from bbops.runtime.vendors import find_steps


@dataclass(frozen=True, slots=True)
class Listed:
    """One addon.

    Attributes:
        service: the service that it calls; empty for own addons and those that run on the server.
        key_source: the place where its key is made; empty if `endpoint` names another service.
        secrets: env variables that hold its secrets.
        uses: functions with the lines in them that are steps of it.
    """

    name: str
    title: str
    is_own: bool
    enabled: bool
    service: str
    key_source: str
    hosts: tuple[str, ...]
    secrets: tuple[str, ...]
    steps: tuple[str, ...]
    uses: tuple[tuple[str, int], ...]

    @property
    def told(self) -> dict[str, Any]:
        """It, for JSON."""
        return {
            "name": self.name, "title": self.title, "own": self.is_own, "enabled": self.enabled,
            "service": self.service, "keySource": self.key_source,
            "hosts": list(self.hosts), "secrets": list(self.secrets), "steps": list(self.steps),
            "uses": [{"function": one, "line": line} for one, line in self.uses],
        }  # fmt: skip

    @property
    def line(self) -> str:
        """It, for people."""
        service = f"{self.service}, " if self.service else ""
        state = "enabled" if self.enabled else "disabled"
        where = f", {' and '.join(self.hosts)}" if self.hosts else ""
        used = len({one for one, _ in self.uses})
        by = f"{used} function" if used == 1 else f"{used} functions"
        count = f"{len(self.steps)} step" if len(self.steps) == 1 else f"{len(self.steps)} steps"
        line = f"{self.name}: {service}{state}, {count}, used by {by}{where}"
        return f"{line}\n    key: {self.key_source}" if self.key_source else line


def list_addons(change: Change) -> list[Listed]:
    """Return the addons of a project's files, in the order of their names."""
    users = find_users(change)
    found = []
    for name in sorted(one.name for one in change.names() if one.folder == "addons"):
        if "/" not in name:
            root = change.document(f"addons/{name}.yaml").root
            told = root if isinstance(root, Mapping) else {}
            found.append(_listed(change, name, told, tuple(users.get(name, ()))))
    return found


def _listed(
    change: Change, name: str, root: Mapping[str, Any], uses: tuple[tuple[str, int], ...]
) -> Listed:
    kind, config = addon_kind(name), root.get("config")
    settings = {key: str(one) for key, one in config.items()} if isinstance(config, Mapping) else {}
    variables = {one for text in settings.values() if (one := env_name(text))}
    address = settings.get("endpoint") or str(root.get("server") or root.get("mcp") or "")
    if kind is not None:
        steps = tuple(find_steps(name))
        hosts = (urlsplit(address).netloc,) if address else kind.hosts
        title, service = kind.title, kind.service
        is_moved = kind.address == "endpoint" and bool(address)
        key_source = "" if is_moved else kind.key_source
    else:
        below = f"{name}/"
        own = [one.name for one in change.names() if one.folder == "addons"]
        steps = tuple(one.removeprefix(below) for one in own if one.startswith(below))
        hosts = (urlsplit(address).netloc,) if address else ()
        title, service, key_source = str(root.get("description") or ""), "", ""
    return Listed(
        name, title, kind is None, root.get("enabled") is True, service, key_source,
        tuple(filter(None, hosts)), tuple(sorted(variables)), steps, uses,
    )  # fmt: skip


def find_users(change: Change) -> dict[str, list[tuple[str, int]]]:
    """Return where functions have steps of each addon: (function, line)."""
    found: dict[str, list[tuple[str, int]]] = {}
    for file, reference in change.references():
        if file.startswith(("functions/", "endpoints/")) and reference.to.folder == "addons":
            addon = reference.to.name.partition("/")[0]
            folder, _, name = file.removesuffix(".yaml").partition("/")
            one = f"{INLINE}{name}" if folder == "endpoints" else name
            found.setdefault(addon, []).append((one, reference.mark.line))
    return found


# ---- Enable and disable addons without a change of their configuration

_SECRET: Final = re.compile(r"\$\{ *env\.([A-Z0-9_]+) *\}")


def switch_on(change: Change, name: str) -> list[str]:
    """Enable an addon, and return the env variables that its settings name.

    The change stays empty for an addon that is already enabled.

    Raises:
        BbopsError: the project has none of this name, and neither has the catalog.
    """
    file = Name("addons", name)
    if change.exists(file):
        _switch(change, file, "true")
    elif addon_kind(name) is not None:
        make(change, file)
    else:
        raise _missing(change, name)
    text = change.data(file.file).decode()
    return list(dict.fromkeys(_SECRET.findall(text)))


def switch_off(change: Change, name: str) -> list[str]:
    """Disable an addon, and return the functions whose steps fail from then on.

    The change stays empty for an addon that is not enabled.

    Raises:
        BbopsError: the project has none of this name.
    """
    file = Name("addons", name)
    if not change.exists(file) and addon_kind(name) is None:
        raise _missing(change, name)
    if change.exists(file):
        _switch(change, file, "false")
    return sorted({one for one, _ in find_users(change).get(name, ())})


def _switch(change: Change, file: Name, enabled: str) -> None:
    before = change.data(file.file)
    set_key(change, file, "enabled", enabled)
    if change.data(file.file) == before:
        del change.files[file.file]


def _missing(change: Change, name: str) -> BbopsError:
    own = [one.name for one in change.names() if one.folder == "addons" and "/" not in one.name]
    hint = suggest(name, [*own, *addon_kinds()]) or "the catalog has " + ", ".join(addon_kinds())
    return BbopsError(f"there is no addon '{name[:80]}'", hint=hint)
