"""Whether a project uses what the workspace of its server has switched off.

No rule of the language: a project says nothing of where it is served, so only a server asks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bbops.base.diagnostics import Diagnostic, Place
from bbops.language.project import Project, Resource

_SWITCH = "an owner can switch it on with 'bbops workspace set features.{feature}=on'"


def check_features(project: Project, off: Collection[str]) -> Iterator[Diagnostic]:
    """Yield an error for each file of a feature that is off.

    Args:
        project: has no other errors.
        off: names of features, such as `restChannels`.
    """
    uses: Mapping[str, Mapping[str, Resource[Any]]] = {"restChannels": project.channels}
    for feature, resources in uses.items():
        if feature not in off:
            continue
        for one in resources.values():
            yield Diagnostic(
                Place(one.file), "feature-off",
                f"the feature '{feature}' is off in this server's workspace",
                _SWITCH.format(feature=feature),
            )  # fmt: skip
