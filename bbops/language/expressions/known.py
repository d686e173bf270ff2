"""What is known when a step begins: the variables with their types, and what conditions proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bbops.language.expressions.types import ANY, Type, join

Path = tuple[str | int, ...]
"""A value by its names: `vars.user.name` is ("vars", "user", "name")."""

Facts = Mapping[Path, bool]
"""Of values that may be null: True is not null here, False is null here."""


@dataclass(slots=True)
class Known:
    """The variables and the facts at one point of a function.

    Attributes:
        vars: the variables that are set on every path to here.
        unset: those that are set on some paths only, and which ones, for the hint.
        facts: what conditions proved.
        blamed: values reported as possibly null; they are taken for sure from then on.
        ended: no step can run here, since the ones before always return or throw.
        doubtful: a condition before was wrong, so nobody knows what it should have proved.
    """

    vars: dict[str, Type] = field(default_factory=dict)
    unset: dict[str, str] = field(default_factory=dict)
    facts: dict[Path, bool] = field(default_factory=dict)
    blamed: set[Path] = field(default_factory=set)
    ended: bool = False
    doubtful: bool = False

    def copy(self, facts: Facts | None = None) -> Known:
        """Return a copy that may go its own way, with more facts."""
        known = {**self.facts, **facts} if facts else dict(self.facts)
        return Known(
            dict(self.vars), dict(self.unset), known, set(self.blamed), self.ended, self.doubtful
        )  # fmt: skip

    def set(self, name: str, of: Type) -> None:
        """Take a new value of `vars.<name>`; what was known of the old one is forgotten."""
        self.vars[name] = of.as_read()
        self.unset.pop(name, None)
        self.forget("vars", name)

    def forget(self, *path: str) -> None:
        """Drop the facts about a value and everything inside it."""
        size = len(path)
        for found in [one for one in self.facts if one[:size] == path]:
            del self.facts[found]
        for found in [one for one in self.blamed if one[:size] == path]:
            self.blamed.discard(found)

    def narrowed(self, path: Path, of: Type) -> Type:
        """Return the type of the value at a path for those who read it."""
        return of.not_null() if path in self.blamed else self.proved(path, of)

    def proved(self, path: Path, of: Type) -> Type:
        """Return the type of the value at a path, as far as conditions say more of it."""
        fact = self.facts.get(path)
        if fact is False and of.nullable:
            return replace(of, kind="null", nullable=True, item=None, fields=None, rest=None)
        return of.not_null() if fact else of

    def variable(self, name: str) -> Type:
        """Return the type of a variable that is set."""
        return self.proved(("vars", name), self.vars[name])

    def may_lack(self, names: Sequence[str], why: str) -> None:
        """Take that a step may come back to here with these variables set, or not."""
        for name in names:
            if name not in self.vars:
                self.unset.setdefault(name, why)

    def says_as_much_as(self, other: Known) -> bool:
        """Return whether the same is known of variables and paths."""
        return self.vars == other.vars and self.facts == other.facts

    def widened(self, since: Known) -> Known:
        """Return this with `any` for each variable whose type is not that of `since`."""
        found = self.copy()
        for name, of in self.vars.items():
            if name in since.vars and since.vars[name] != of:
                found.vars[name] = replace(ANY, private=of.hides or since.vars[name].hides)
        return found


def rejoined(ends: Sequence[tuple[str, Known]]) -> Known:
    """Return what is known where paths meet again.

    Args:
        ends: each path's end, and the words that say which path sets a variable when not all do.
    """
    open_ = [(where, known) for where, known in ends if not known.ended]
    if not open_:
        return ends[0][1].copy()
    (where, found), *others = open_
    found = found.copy()
    for also, known in others:
        found, where = _both(found, where, known, also), ""
    return found


def _both(left: Known, where: str, right: Known, also: str) -> Known:
    found = Known(blamed=left.blamed | right.blamed, doubtful=left.doubtful or right.doubtful)
    found.unset = {**left.unset, **right.unset}
    found.facts = {path: fact for path, fact in left.facts.items() if right.facts.get(path) is fact}
    for name in {**left.vars, **right.vars}:
        if name not in right.vars:
            found.unset[name] = right.unset.get(name) or where
        elif name not in left.vars:
            found.unset[name] = left.unset.get(name) or also
        elif left.vars[name] is right.vars[name] and ("vars", name) in found.facts:
            found.vars[name] = left.vars[name]
        else:
            found.vars[name] = join(left.variable(name), right.variable(name))
    return found
