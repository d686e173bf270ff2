"""Plant one mistake at a time: misspell, drop, double, swap, quote, in every place there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations

from bbops.language.expressions import nodes as s
from bbops.source.yaml.document import Map, Text
from bbops.source.yaml.document import load as load_document
from tests.mistakes.meaning import Meaning
from tests.mistakes.names import REFERENCES, Speakers
from tests.mistakes.nulls import guards
from tests.mistakes.sample import Sample
from tests.mistakes.spots import Spot
from tests.mistakes.words import offsets, trees, walk, words


@dataclass(frozen=True, slots=True)
class Mutant:
    """A project with one change.

    Attributes:
        start: where the change begins in its file; up to `end` it becomes `text`.
        speakers: the files that speak of what was changed; empty where it is no mistake.
        lines: the first and last line, after the change, at which a finding is at the place.
        is_spoken_of: it is a mistake because others need it, so the place is anywhere in the
            files that do.
        is_neutral: the file still says the same, so nothing may be found.
    """

    operator: str
    sample: str
    file: str
    what: str
    start: int
    end: int
    text: str
    speakers: Speakers
    lines: tuple[int, int]
    is_spoken_of: bool = False
    is_neutral: bool = False

    def source(self, before: str) -> str:
        """Return the file's text with the change."""
        return before[: self.start] + self.text + before[self.end :]

    @property
    def name(self) -> str:
        """What it is called, wherever the lines of its file are."""
        return f"{self.operator} {self.sample}/{self.file} {self.what}"

    def __str__(self) -> str:
        return f"{self.operator} {self.sample}/{self.file}:{self.lines[0]} {self.what}"


def mutants(sample: Sample) -> Iterator[Mutant]:
    """Yield every mutant of a sample, in the order of its files."""
    making = _Making(sample, Meaning(sample))
    for spot in sample.spots:
        for operator in OPERATORS.values():
            yield from operator(making, spot)


@dataclass(frozen=True, slots=True)
class _Making:
    sample: Sample
    meaning: Meaning

    def source(self, spot: Spot) -> str:
        return self.sample.files[spot.file]

    def change(
        self, operator: str, spot: Spot, start: int, end: int, text: str, speakers: Speakers,
        what: str, *, since: int | None = None, is_spoken_of: bool = False,
    ) -> Mutant:  # fmt: skip
        """Return a mutant whose place is the lines from `since` to the end of the change."""
        source = self.source(spot)
        first = source.count("\n", 0, start if since is None else since) + 1
        last = source.count("\n", 0, start) + 1 + text.count("\n")
        return Mutant(
            operator, self.sample.name, spot.file, what, start, end, text, speakers,
            (first, max(first, last)), is_spoken_of,
        )  # fmt: skip


# ---- keys
def misspell_key(making: _Making, spot: Spot) -> Iterator[Mutant]:
    if spot.key_at is not None:
        name = str(spot.path[-1])
        speakers = making.meaning.speakers(spot)
        at = spot.key_at.start + bool(spot.key_at.style)
        wrong = misspelt(name)
        yield making.change(
            "misspell a key", spot, at, at + len(name), wrong, speakers, f"{name} -> {wrong}",
            is_spoken_of=spot.key_role != "keyword",
        )  # fmt: skip


def drop_key(making: _Making, spot: Spot) -> Iterator[Mutant]:
    if spot.key_at is None or not isinstance(spot.holder, Map):
        return
    start, end = _extent(making.source(spot), spot)
    since = spot.holder.mark.start
    parent = making.source(spot).rfind("\n", 0, since) + 1
    yield making.change(
        "drop a key", spot, start, end, "", making.meaning.needing(spot), str(spot.path[-1]),
        since=max(making.source(spot).rfind("\n", 0, max(parent - 1, 0)) + 1, 0),
        is_spoken_of=not spot.required,
    )  # fmt: skip


def _extent(source: str, spot: Spot) -> tuple[int, int]:
    """Return where an entry of a map begins, and where what follows it does."""
    assert isinstance(spot.holder, Map)
    assert spot.key_at is not None
    later = [at.start for at in spot.holder.keys_at.values() if at.start > spot.key_at.start]
    if later:
        return spot.key_at.start, min(later)
    before = [at.end for at in spot.holder.values_at.values() if at.end <= spot.key_at.start]
    is_flow = source[spot.holder.mark.start] == "{"
    return (max(before) if before and is_flow else spot.key_at.start), spot.at.end


def double_key(making: _Making, spot: Spot) -> Iterator[Mutant]:
    if spot.key_at is None:
        return
    source = making.source(spot)
    entry = source[spot.key_at.start : spot.at.end].rstrip()
    is_flow = source[spot.holder.mark.start] == "{"
    between = ", " if is_flow else "\n" + " " * (spot.key_at.column - 1)
    yield making.change(
        "double a key", spot, spot.key_at.start, spot.key_at.start, entry + between, (spot.file,),
        str(spot.path[-1]),
    )  # fmt: skip


# ---- names and enum values
def misspell_name(making: _Making, spot: Spot) -> Iterator[Mutant]:
    if not isinstance(spot.value, Text):
        return
    at = offsets(making.sample.documents[spot.file], spot)
    for tree in trees(spot):
        for word in words(tree):
            speakers: Speakers = () if making.meaning.is_json(spot, word) else (spot.file,)
            yield _misspelt_at(making, spot, at, word.start, word.name, speakers)
    for start, name, speakers in _plain_names(making, spot):
        is_reference = spot.role in {"static", "type"} or _where(spot) in REFERENCES
        yield _misspelt_at(
            making, spot, at, start, name, speakers, is_spoken_of=not is_reference
        )  # fmt: skip


def _where(spot: Spot) -> tuple[str, str]:
    return spot.owner.__name__, spot.field


def _misspelt_at(
    making: _Making, spot: Spot, at: list[int], offset: int, name: str, speakers: Speakers, *,
    is_spoken_of: bool = False,
) -> Mutant:  # fmt: skip
    wrong, start = misspelt(name), at[offset]
    what = f"{name} -> {wrong} in '{spot.value[:60]}'"
    return making.change(
        "misspell a name", spot, start, start + len(name), wrong, speakers, what,
        is_spoken_of=is_spoken_of,
    )  # fmt: skip


def _plain_names(making: _Making, spot: Spot) -> Iterator[tuple[int, str, Speakers]]:
    """Yield the names in a value that is no expression: (offset, name, who speaks of it)."""
    meaning, here, text = making.meaning, (spot.file,), str(spot.value)
    where = _where(spot)
    if spot.role == "static" and where != ("SqlParameters", "statement"):
        yield 0, text, here
    elif spot.role == "type":
        yield 0, text.rstrip("?[]"), here
    elif where in REFERENCES and not trees(spot):
        at = 0
        for part in text.split("."):
            yield at, part, here
            at += len(part) + 1
    elif found := re.fullmatch(r"\$\{ *env\.(\w+) *\}", text):
        yield found.start(1), found[1], here
    elif spot.field in {"as", "each", "index"} and spot.role == "pattern":
        yield 0, text, meaning.of_variable(spot, text)
    elif where in {("EmitParameters", "event"), ("Trigger", "event")}:
        others = making.sample.with_word(text)
        yield 0, text, others if len(others) > 1 else ()
    elif where in {("Endpoint", "path"), ("Realtime", "topic"), ("Channel", "basePath")}:
        yield from _parameters(making, spot, text)


def _parameters(making: _Making, spot: Spot, text: str) -> Iterator[tuple[int, str, Speakers]]:
    for found in re.finditer(r":(\w+)", text):
        name = found[1]
        declared = rf"^( *)params:\n(\1  .*\n)*?\1  {name}:"
        reads = re.compile(rf"params\??\.{name}\b|{declared}", re.MULTILINE)
        speakers = (file for file, text in making.sample.files.items() if reads.search(text))
        yield found.start(1), name, tuple(speakers)


def misspell_option(making: _Making, spot: Spot) -> Iterator[Mutant]:
    options = making.meaning.options(spot)
    if spot.role == "choice" or str(spot.value) in options:
        if isinstance(spot.value, Text):
            at = offsets(making.sample.documents[spot.file], spot)
            wrong = misspelt(spot.value)
            yield making.change(
                "misspell an option", spot, at[0], at[0] + len(spot.value), wrong, (spot.file,),
                f"{spot.value} -> {wrong}",
            )  # fmt: skip
    elif trees(spot):
        yield from _compared(making, spot)


def _compared(making: _Making, spot: Spot) -> Iterator[Mutant]:
    """Yield the texts that are compared with something declared to be one of some texts."""
    at = offsets(making.sample.documents[spot.file], spot)
    compared = [node for tree in trees(spot) for node in walk(tree) if isinstance(node, s.Compare)]
    sides = [side for node in compared for side in permutations((node.left, node.right))]
    for one, other in sides:
        value = one.value if isinstance(one, s.Literal) else None
        if isinstance(value, str) and making.meaning.is_option(spot, other, value):
            start = at[one.start + 1]
            yield making.change(
                "misspell an option", spot, start, start + len(value), misspelt(value),
                (spot.file,), f"'{value}' in '{spot.value[:60]}'",
            )  # fmt: skip


# ---- types
def swap_type(making: _Making, spot: Spot) -> Iterator[Mutant]:
    if not spot.role:
        return
    wanted = making.meaning.wanted(spot)
    other = "7" if wanted in {"", "text", "boolean"} else "seven"
    yield making.change(
        "swap a type", spot, spot.at.start, spot.at.end, _kept_break(making, spot, other),
        (spot.file,) if wanted else (), f"{str(spot.value)[:40]} -> {other}",
    )  # fmt: skip


def _kept_break(making: _Making, spot: Spot, text: str) -> str:
    old = making.source(spot)[spot.at.start : spot.at.end]
    text = text if making.source(spot)[spot.at.start - 1 : spot.at.start] != ":" else f" {text}"
    return text + "\n" if old.endswith("\n") else text


def quote(making: _Making, spot: Spot) -> Iterator[Mutant]:
    source = making.source(spot)
    raw = source[spot.at.start : spot.at.end]
    if not spot.role or spot.at.style in {"|", ">"} or "\n" in raw or not raw:
        return
    quoted = raw if spot.at.style else "'" + raw.replace("'", "''") + "'"
    text = str(spot.value) if spot.at.style else quoted
    change = making.change("quote" if text == quoted else "unquote", spot, spot.at.start,
                           spot.at.end, text, (), f"{raw[:40]} -> {text[:40]}")  # fmt: skip
    before = making.sample.documents[spot.file]
    after = load_document(change.source(source).encode())
    if not after.problems and after.root == before.root and _same(after.root, before.root):
        yield replace(change, is_neutral=True)
    elif after.problems or making.meaning.wanted(spot) or trees(spot):
        yield replace(change, speakers=(spot.file,))
    else:
        yield change


def _same(left: object, right: object) -> bool:
    """Return whether two values are equal, types and all."""
    return repr(left) == repr(right)


# ---- null checks
def drop_null_check(making: _Making, spot: Spot) -> Iterator[Mutant]:
    if not isinstance(spot.value, Text):
        return
    at = offsets(making.sample.documents[spot.file], spot)
    text = str(spot.value)
    for tree in trees(spot):
        for node, is_guard in guards(tree):
            guarded = is_guard
            for start, end in _cuts(node, text):
                guarded = guarded and not making.meaning.is_checked_before(spot, node)
                yield making.change(
                    "drop a null check", spot, at[start], at[end], "",
                    (spot.file,) if guarded else (), f"'{text[start:end]}' in '{text[:60]}'",
                )  # fmt: skip


def _cuts(node: s.Node, text: str) -> Iterator[tuple[int, int]]:
    match node:
        case s.Member(of=of, name_start=start):
            at = text.index("?", of.end)
            yield at, at + 1
        case s.Filter(of=of, end=end):
            at = text.index("|", of.end)
            while text[at - 1] == " ":
                at -= 1
            yield at, end
        case s.Logic(right=right, start=start):
            yield start, right.start


# ---- spelling
def misspelt(word: str) -> str:
    """Return a word with two letters in the wrong order, or one too many."""
    for at in range(len(word) // 2, len(word) - 1):
        pair = word[at : at + 2]
        if pair.isalnum() and pair[0] != pair[1]:
            return word[:at] + pair[::-1] + word[at + 2 :]
    last = max(at for at, char in enumerate(word) if char.isalnum()) if word else 0
    return word[: last + 1] + word[last : last + 1] + word[last + 1 :]


OPERATORS: dict[str, Callable[[_Making, Spot], Iterator[Mutant]]] = {
    "misspell a key": misspell_key,
    "drop a key": drop_key,
    "double a key": double_key,
    "misspell a name": misspell_name,
    "misspell an option": misspell_option,
    "swap a type": swap_type,
    "drop a null check": drop_null_check,
    "quote": quote,
}
