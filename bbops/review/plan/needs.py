"""Find the requirements of a change for the server's operators: values, addons, features."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bbops.language.project import Project
from bbops.review.plan.pairs import Pairs


@dataclass(frozen=True, slots=True)
class EnvNeed:
    """An env variable that stops the publication while it has no value."""

    name: str
    secret: bool
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Needs:
    """The requirements before a change goes live.

    Attributes:
        env: variables without a value; if the values are unknown, the newly declared ones.
        known: whether it is known which variables have values.
        enabled: addons that are switched on.
        disabled: addons that are switched off.
        features: workspace features that the project did not use before.
    """

    env: tuple[EnvNeed, ...]
    known: bool
    enabled: tuple[str, ...]
    disabled: tuple[str, ...]
    features: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there are no requirements."""
        return not (self.env or self.enabled or self.disabled or self.features)


def find_needs(pairs: Pairs, values: Collection[str] | None) -> Needs:
    """Return the requirements that the new project adds.

    Args:
        values: names of the env variables that have a value; None if they are unknown.
    """
    was, now = _enabled(pairs.base), _enabled(pairs.head)
    features = ("restChannels",) if pairs.head.channels and not pairs.base.channels else ()
    return Needs(
        tuple(_missing(pairs, values)), values is not None,
        tuple(sorted(now - was)), tuple(sorted(was - now)), features,
    )  # fmt: skip


def _enabled(project: Project) -> set[str]:
    return {name for name, addon in project.addons.items() if addon.model.enabled}


def _missing(pairs: Pairs, values: Collection[str] | None) -> Iterator[EnvNeed]:
    head = pairs.head.settings
    for name, variable in sorted(head.model.env.items()):
        old = pairs.base.settings.model.env.get(name)
        is_there = old is not None and not old.may_be_missing if values is None else name in values
        if not variable.may_be_missing and not is_there:
            place = head.place("env", name, key=True)
            yield EnvNeed(name, variable.secret, place.file, place.line)
