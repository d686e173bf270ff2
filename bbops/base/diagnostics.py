"""Diagnostics: a mistake, its place and its fix, also as JSON.

Lines and columns count from 1; columns are Unicode code points, as editors show them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Self

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class ReplaceWord:
    """A fix: `old`, from the place of a diagnostic on, becomes `new`."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class ReplaceValue:
    """A fix: the value at the place of a diagnostic becomes `new`."""

    new: str


@dataclass(frozen=True, slots=True)
class SetEntry:
    """A fix: an entry is set, beside the place of a diagnostic or at a `path` of another file."""

    key: str
    value: str | bool
    file: str = ""
    path: tuple[str, ...] = ()


Fix = ReplaceWord | ReplaceValue | SetEntry


class Hint(str):
    """A hint that names exactly one fix."""

    __slots__ = ("fix",)

    fix: Fix

    def __new__(cls, text: str, fix: Fix) -> Self:
        """Return the text, with the fix as data: nothing reads the text to make an edit."""
        hint = super().__new__(cls, text)
        hint.fix = fix
        return hint


LONGEST = 800
"""Characters of a message or a hint."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a project: `file` is relative to its root, with forward slashes."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """One finding. A code never changes its meaning; `docs/errors.md` explains each one."""

    place: Place
    code: str
    message: str
    hint: str = ""
    severity: Severity = "error"
    fix: Fix | None = field(default=None, compare=False)
    """The edit that solves it, if exactly one does: the one of its `Hint`."""

    def __post_init__(self) -> None:
        """Shorten what quotes a name or text of any length."""
        if isinstance(self.hint, Hint):
            object.__setattr__(self, "fix", self.hint.fix)
            object.__setattr__(self, "hint", str(self.hint))
        for name in ("message", "hint"):
            text: str = getattr(self, name)
            if len(text) > LONGEST:
                object.__setattr__(self, name, f"{text[: LONGEST - 100]} … {text[-90:]}")

    def __str__(self) -> str:
        head = f"{self.place}: {self.severity}: {self.message} [{self.code}]"
        return f"{head}\n    hint: {self.hint}" if self.hint else head


def suggest(name: str, options: Iterable[str]) -> str:
    """Return `did you mean 'x'?` for the option nearest to `name`, or an empty text."""
    near = find_nearest(name, options)
    return did_you_mean(name, near) if near else ""


def did_you_mean(written: str, meant: str) -> Hint:
    """Return the hint that one word is probably another."""
    return Hint(f"did you mean '{meant}'?", ReplaceWord(written, meant))


def find_nearest(name: str, options: Iterable[str]) -> str:
    """Return the option nearest to `name`, or an empty text.

    Case does not count; the only option that begins with `name` comes before similar ones.
    """
    known = {option.lower(): option for option in options}
    wanted = name.lower()
    longer = [option for option in known if len(wanted) > 2 and option.startswith(wanted)]
    near = longer if len(longer) == 1 else []
    # Half of a short name is one typing mistake, half of a long one is another word.
    cutoff = 0.6 if len(wanted) < 4 else 0.7
    near = near or difflib.get_close_matches(wanted, known, n=1, cutoff=cutoff)
    return known[near[0]] if near else ""


def suggest_resource(name: str, folder: str, known: Iterable[str]) -> str:
    """Return the cure for the name of a resource that does not exist.

    A path such as `functions/notes/list.yaml` counts as the name that it stands for.
    """
    names = list(known)
    bare = name.removeprefix(f"{folder}/").removesuffix(".yaml")
    if bare in names:
        text = f"write '{bare}': the path below {folder}/, without '.yaml'"
        return Hint(text, ReplaceWord(name, bare))
    return suggest(bare, names) or f"make {folder}/{bare}.yaml"


def article(noun: str) -> str:
    """Return `a text`, `an integer`."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether at least one of them is an error; warnings publish."""
    return any(d.severity == "error" for d in diagnostics)
