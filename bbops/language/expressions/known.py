"""The facts at the beginning of a step: the types of variables, and the proofs of conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bbops.language.expressions.types import ANY, Type, join

Path = tuple[str | int, ...]
"""The names that lead to a value: `vars.user.name` is ("vars", "user", "name")."""

Facts = Mapping[Path, bool]
"""Values that may be null: True is not null here, False is null here."""


@dataclass(slots=True)
class FlowFacts:
    """The variables and the facts at one point of a function.

    Attributes:
        vars: the variables that are set on every path to here.
        unset: the variables that are set only on some paths, with these paths for the hint.
        facts: the proofs of conditions.
        blamed: values reported as possibly null; from then on they count as not null.
        ended: no step can run here, since all steps before return or throw.
        doubtful: an earlier condition has a mistake, so its proof is unknown.
    """

    vars: dict[str, Type] = field(default_factory=dict)
    unset: dict[str, str] = field(default_factory=dict)
    facts: dict[Path, bool] = field(default_factory=dict)
    blamed: set[Path] = field(default_factory=set)
    ended: bool = False
    doubtful: bool = False

    def copy(self, facts: Facts | None = None) -> FlowFacts:
        """Return an independent copy, with more facts."""
        known = {**self.facts, **facts} if facts else dict(self.facts)
        return FlowFacts(
            dict(self.vars), dict(self.unset), known, set(self.blamed), self.ended, self.doubtful
        )  # fmt: skip

    def set(self, name: str, of: Type) -> None:
        """Set the type of `vars.<name>`, and drop the facts about its old value."""
        self.vars[name] = of.as_read()
        self.unset.pop(name, None)
        self.forget("vars", name)

    def forget(self, *path: str) -> None:
        """Drop the facts about a value and everything inside it."""
        size = len(path)
        for found in [other for other in self.facts if other[:size] == path]:
            del self.facts[found]
        for found in [other for other in self.blamed if other[:size] == path]:
            self.blamed.discard(found)

    def narrowed(self, path: Path, of: Type) -> Type:
        """Return the type of the value at a path for its readers."""
        return of.not_null() if path in self.blamed else self.proved(path, of)

    def proved(self, path: Path, of: Type) -> Type:
        """Return the type of the value at a path, narrowed by conditions."""
        fact = self.facts.get(path)
        if fact is False and of.nullable:
            return replace(of, kind="null", nullable=True, item=None, fields=None, rest=None)
        return of.not_null() if fact else of

    def variable(self, name: str) -> Type:
        """Return the type of a variable that is set."""
        return self.proved(("vars", name), self.vars[name])

    def may_lack(self, names: Sequence[str], why: str) -> None:
        """Record that a step may jump back to here, with these variables set or not."""
        for name in names:
            if name not in self.vars:
                self.unset.setdefault(name, why)

    def says_as_much_as(self, other: FlowFacts) -> bool:
        """Return whether variables and paths are known equally well in both."""
        return self.vars == other.vars and self.facts == other.facts

    def widened(self, since: FlowFacts) -> FlowFacts:
        """Return a copy with `any` for each variable whose type has changed since `since`."""
        found = self.copy()
        for name, of in self.vars.items():
            if name in since.vars and since.vars[name] != of:
                found.vars[name] = replace(ANY, private=of.hides or since.vars[name].hides)
        return found


def rejoined(ends: Sequence[tuple[str, FlowFacts]]) -> FlowFacts:
    """Return the facts after paths meet again.

    Args:
        ends: the end of each path, and the words for the path if only some paths set a variable.
    """
    open_ = [(where, known) for where, known in ends if not known.ended]
    if not open_:
        return ends[0][1].copy()
    (where, found), *others = open_
    found = found.copy()
    for also, known in others:
        found, where = _both(found, where, known, also), ""
    return found


def _both(left: FlowFacts, where: str, right: FlowFacts, also: str) -> FlowFacts:
    found = FlowFacts(blamed=left.blamed | right.blamed, doubtful=left.doubtful or right.doubtful)
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
