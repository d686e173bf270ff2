"""Enable and disable addons without a change of their configuration."""

from __future__ import annotations

import re
from typing import Final

from bbops.base.diagnostics import suggest
from bbops.base.errors import BbopsError
from bbops.edit.authoring.changing import Change
from bbops.edit.authoring.making import make
from bbops.edit.authoring.naming import Name
from bbops.edit.authoring.setting import set_key
from bbops.edit.importing.listing import find_users
from bbops.language.addons._base import kind as addon_kind
from bbops.language.addons._base import kinds as addon_kinds

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
