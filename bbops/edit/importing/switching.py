"""Enable and disable addons; what is configured stays."""

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
    """Enable an addon; return the env variables that its settings name.

    Raises:
        BbopsError: the project has none of this name, and neither has the catalog.
    """
    file = Name("addons", name)
    if change.exists(file):
        set_key(change, file, "enabled", "true")
    elif addon_kind(name) is not None:
        make(change, file)
    else:
        raise _missing(change, name)
    text = change.data(file.file).decode()
    return list(dict.fromkeys(_SECRET.findall(text)))


def switch_off(change: Change, name: str) -> list[str]:
    """Disable an addon; return the functions whose steps fail from then on.

    One of the catalog that has no file is disabled already.

    Raises:
        BbopsError: the project has none of this name.
    """
    file = Name("addons", name)
    if not change.exists(file) and addon_kind(name) is None:
        raise _missing(change, name)
    if change.exists(file):
        set_key(change, file, "enabled", "false")
    return sorted({one for one, _ in find_users(change).get(name, ())})


def _missing(change: Change, name: str) -> BbopsError:
    own = [one.name for one in change.names() if one.folder == "addons" and "/" not in one.name]
    hint = suggest(name, [*own, *addon_kinds()]) or "'bbops addon list' shows those there are"
    return BbopsError(f"there is no addon '{name[:80]}'", hint=hint)
