"""Which parts of the language this version checks, but does not run: for pages, lists and agents.

It is asked of the parts themselves, so that it is never out of date.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from bbops.language.addons._base import kinds as addon_kinds
from bbops.language.addons._base import step_keys
from bbops.language.loading.load import kinds
from bbops.language.steps._base import find_step_kind, step_kinds
from bbops.runtime.vendors import find_steps


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the language, by the names that projects use.

    Attributes:
        kinds: folders, such as `realtime`.
        keys: of the other kinds, such as `triggers.webhook`.
        steps: keys of steps, without those of addons.
        addons: ids of addons of which no step runs.
        addon_steps: keys of the steps of addons.
    """

    kinds: tuple[str, ...]
    keys: tuple[str, ...]
    steps: tuple[str, ...]
    addons: tuple[str, ...]
    addon_steps: tuple[str, ...]

    def __str__(self) -> str:
        named = {"resource kinds": self.kinds, "keys": self.keys, "steps": self.steps}
        named["addons"] = self.addons
        return "; ".join(f"{what}: {', '.join(names)}" for what, names in named.items() if names)


@cache
def find_unsupported_parts() -> Parts:
    """Return what this version does not run."""
    return Parts(
        tuple(folder for folder, model in kinds().items() if not model.is_supported()),
        tuple(
            f"{folder}.{key}" for folder, model in kinds().items() if model.is_supported()
            for key in sorted(model.unsupported_keys())
        ),
        tuple(key for key, kind in step_kinds().items() if not kind.is_supported()),
        tuple(name for name in addon_kinds() if not find_steps(name)),
        tuple(
            key for key in step_keys()
            if (kind := find_step_kind(key)) is not None and not kind.is_supported()
        ),
    )  # fmt: skip
