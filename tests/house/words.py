"""Places where a clause, a pronoun or a private word replaces a noun.

`python -m tests.house.words [PATH ...]` prints them; docs/style.md has the rule and examples.
`words.txt` has the number of places that each file may have, and a file without a line has none.
`--update` lowers the numbers to the current count, and refuses to raise one. Git merges two lists
by union (.gitattributes); run `--update` after a merge. If the list does not exist, it is written
as found.
"""

from __future__ import annotations

import argparse
import ast
import functools
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.conftest import ROOT

ALLOWED: Final = Path(__file__).with_name("words.txt")
COMMAND: Final = "python -m tests.house.words"
CODE: Final = ("bbops", "server", "tests")
PAGES: Final = (
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "AGENTS.md",
)  # fmt: skip
CLEAN: Final = ("CHANGELOG.md", "docs/decisions/")
"""Files that have no places: the list never names them."""

ADVICE: Final = {
    "docstring opens with a clause": 'begin with a verb and a noun ("Return the live release.")',
    "is no": 'write "is not a …"',
    "nobody, somebody": "name the user, the caller, the client or the author",
    "clause as subject": "name the subject by a noun",
    "told, said, asked": "write reported, returned, requested, rejected or logged",
    "that of": "repeat the noun",
    "one that": "repeat the noun",
    "private word": "use the term of the glossary in docs/style.md",
    "class name": "name the class by a noun of the field",
    "function name": "name the function by a verb and a noun",
    "test name": "state the behavior: test_expired_token_is_rejected",
    "variable": "name the element: 'for job in jobs'",
    "class in several files": "give each class a longer, unique name",
}
"""The fix for each kind of place."""

SENTENCES: Final = {
    "is no": re.compile(
        r"(?<!there\s)\b(?:is|are|was|were)\s+none?\s+(?!of\b)\w"
        r"|(?<!there\s)\b(?:is|are|was|were)\s+no\s+"
        r"(?!(?:more|longer|fewer|less|later|earlier|bigger|larger|better|worse|need|way)\b)\w",
        re.IGNORECASE,
    ),
    "nobody, somebody": re.compile(r"\b(?:who(?:m|so)?ever|whom|nobody|somebody)\b", re.IGNORECASE),
    "clause as subject": re.compile(
        r"(?:^[-*>\d.\s]*|[.;:]\s+)(?:Who|What(?:ever)?)\s+"
        r"(?!(?:is|are|does|do|can|should|happens\s+(?:if|when)|it|you|to|we)\b)\w",
        re.MULTILINE,
    ),
    "told, said, asked": re.compile(
        r"\b(?:is|are|was|were|be|been|being)\s+(?:told|said|asked|heard|meant|spoken)\b",
        re.IGNORECASE,
    ),
    "that of": re.compile(r"\b(?:that|those)\s+of\s+(?:an?|the|its|what|which)\b", re.IGNORECASE),
    "one that": re.compile(r"\bones?\s+(?:that|which|whose|whom)\b", re.IGNORECASE),
    "private word": re.compile(
        r"\b(?:mend(?:s|ed|ing)?|anew|serves?\s+on|(?:there|where)of|therein|hears?\s+of"
        r"|lets?\s+(?:in|out)|(?:makes?|gives?)\s+way|(?:stands?|stood)\s+still|on\s+the\s+way"
        r"|by\s+(?:itself|themselves|themself)|at\s+hand)\b",
        re.IGNORECASE,
    ),
}  # fmt: skip
"""Shapes of sentences, in docstrings, comments and pages."""

OPENING: Final = re.compile(
    r"(?:(?:Return|Raise|Yield|Give|Say|Tell|Keep|Take|Make|Remember|Forget)\s+)?"
    r"(?:what(?:ever)?|who(?:m|ever|mever|se)?|that\s+of|those\s+(?:of|that)|its|as\s+the"
    r"|of\s+(?:an?|the|what|which|whom)|one\s+(?:of|that|which|whose)"
    r"|all\s+of\s+(?:it|them|that)|nothing\s+of)\b",
    re.IGNORECASE,
)
CLASS: Final = re.compile(
    r"_?(?:Answering|Admission|Arriving|Asked|Asking|Cure|Found|Given|Heard|Known|Meant|Said"
    r"|Standing|Telling|Told|Touched|Trial|Wanted|Written)s?"
)
FUNCTION: Final = re.compile(
    r"asked|beside|carry|cure|heard|hurry|is_so|meant|mend|ones?|said|told|wanted"
)
TEST: Final = re.compile(r"test_(?:nobody|ones?|somebody|that|those|what(?:ever)?|who(?:ever)?)_")
VARIABLE: Final = re.compile(r"\bfor\s+(?:\w+,\s+)*\(?one\b(?:,\s+\w+\)?)*\s+in\b")
LITERAL: Final = re.compile(
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    r"|#[^\n]*",
    re.DOTALL,
)
"""A string or a comment."""
FENCE: Final = re.compile(r"^ *```.*?(?:^ *```|\Z)", re.DOTALL | re.MULTILINE)
INLINE: Final = re.compile(r"`[^`\n]+`")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line to rewrite, with the kind of its problem."""

    file: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: {self.text[:100]} [{ADVICE[self.kind]}]"


@dataclass(frozen=True, slots=True)
class Scan:
    """The places of a file, and its public classes by line."""

    places: tuple[Place, ...]
    classes: dict[str, int]


@functools.cache
def find_places(root: Path = ROOT) -> tuple[Place, ...]:
    """Return the places of all files below `root`, in order. Each file is parsed once."""
    places: set[Place] = set()
    files = defaultdict[str, dict[str, int]](dict)
    for path in _paths(root):
        file, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            places.update(_replace_file(scan_page(text), file))
            continue
        scan = scan_code(text)
        places.update(_replace_file(scan.places, file))
        for name, line in scan.classes.items() if not file.startswith("tests/") else ():
            files[name][file] = line
    for name, lines in files.items():
        if len(lines) > 1:
            text = f"{name}, in {len(lines)} files"
            places.update(
                Place(file, line, "class in several files", text) for file, line in lines.items()
            )
    return tuple(sorted(places))


def _paths(root: Path) -> Iterator[Path]:
    for folder in CODE:
        yield from (each for each in (root / folder).rglob("*.py") if "golden" not in each.parts)
    yield from (root / "docs").rglob("*.md")
    yield from (root / page for page in PAGES if (root / page).is_file())


def _replace_file(places: Iterable[Place], file: str) -> Iterator[Place]:
    return (replace(place, file=file) for place in places)


def scan_page(text: str) -> list[Place]:
    """Return the places of a Markdown page, without its code blocks."""
    return _sentences(FENCE.sub(_blank, text))


def scan_code(text: str) -> Scan:
    """Return the places and the classes of a Python file."""
    lines = text.splitlines()
    prose = [""] * len(lines)
    places, classes = list[Place](), dict[str, int]()
    for node in _statements(ast.parse(text).body):
        if (docstring := _docstring(node)) is not None:
            end = node.end_lineno or node.lineno
            prose[node.lineno - 1 : end] = lines[node.lineno - 1 : end]
            opening = " ".join(docstring.split())[:100]
            if OPENING.match(opening):
                places.append(Place("", node.lineno, "docstring opens with a clause", opening))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if kind := _kind_of_name(node):
                places.append(Place("", node.lineno, kind, node.name))
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name] = node.lineno
    for number, comment in _comments(text):
        prose[number - 1] = comment
    places += _sentences("\n".join(prose))
    code = LITERAL.sub(_blank, text)
    places += (
        Place("", _line(code, match), "variable", match[0]) for match in VARIABLE.finditer(code)
    )
    return Scan(tuple(places), classes)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield each statement of a block, and those inside of it."""
    for node in body:
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            for inner in getattr(node, field, None) or ():
                yield from _statements([inner] if isinstance(inner, ast.stmt) else inner.body)


def _docstring(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return node.value.value if isinstance(node.value.value, str) else None
    return None


def _kind_of_name(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if isinstance(node, ast.ClassDef):
        return "class name" if CLASS.fullmatch(node.name) else ""
    if TEST.match(node.name):
        return "test name"
    return "function name" if FUNCTION.fullmatch(node.name) else ""


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each comment; the pattern skips `#` in strings."""
    return (
        (_line(text, match), match[0].lstrip("#: "))
        for match in LITERAL.finditer(text)
        if match[0][0] == "#"
    )


def _sentences(text: str) -> list[Place]:
    """Return at most one place of a kind for each line."""
    lines = text.splitlines()
    text = INLINE.sub("X", text)
    found = {
        (_line(text, match, at=match.end()), kind)
        for kind, pattern in SENTENCES.items()
        for match in pattern.finditer(text)
    }
    return [Place("", line, kind, lines[line - 1].strip()) for line, kind in sorted(found)]


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _line(text: str, match: re.Match[str], *, at: int | None = None) -> int:
    return text.count("\n", 0, match.start() if at is None else at) + 1


def allowed() -> Counter[str]:
    """Return the number of places that each file of the list may have."""
    return read_list(ALLOWED.read_text("utf-8"))


def read_list(text: str) -> Counter[str]:
    """Return the numbers by file. After a union merge a file has two lines: the higher counts."""
    counts = Counter[str]()
    for line in text.splitlines():
        file, number = line.rsplit(maxsplit=1)
        counts[file] = max(counts[file], int(number))
    return counts


def update(
    places: Iterable[Place], bound: Counter[str] | None, removed: Iterable[str] = ()
) -> str:  # fmt: skip
    """Return the list for `places`, with no number above `bound`.

    Places of removed files may have moved to others: their numbers are added to what is allowed.

    Raises:
        ValueError: a file has more places than `bound` allows.
    """
    counts = Counter(place.file for place in places)
    higher = Counter[str]() if bound is None else counts - bound
    if bound is not None and higher.total() > sum(bound[file] for file in removed):
        raise ValueError(f"more places than listed in {', '.join(sorted(higher))}")
    return "".join(f"{file} {number}\n" for file, number in sorted(counts.items()))


def main() -> None:
    """Print the places of files or folders, or lower the numbers of the list."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=main.__doc__)
    parser.add_argument("paths", nargs="*", help="files or folders, by default all")
    parser.add_argument("--update", action="store_true", help="write the lower numbers")
    arguments = parser.parse_args()
    found = find_places()
    if arguments.update:
        bound = allowed() if ALLOWED.exists() else None
        removed = [file for file in bound or () if not (ROOT / file).exists()]
        try:
            text = update(found, bound, removed)
        except ValueError as error:
            sys.exit(f"not updated: {error}; see '{COMMAND} PATH'")
        ALLOWED.write_text(text, encoding="utf-8")
    prefixes = tuple(path.removeprefix("./") for path in arguments.paths)
    shown = [place for place in found if place.file.startswith(prefixes or "")]
    kinds = Counter(place.kind for place in shown)
    print(*shown if prefixes or not arguments.update else (), sep="\n")
    print(*(f"{number:6} {kind}" for kind, number in kinds.most_common()), sep="\n")
    print(f"{len(shown)} places")


if __name__ == "__main__":
    main()
