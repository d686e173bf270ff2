"""The owners of files, by CODEOWNERS of GitHub and of GitLab.

On GitHub, patterns are those of `.gitignore`; the last line that matches a file counts.
Source: docs.github.com, "About code owners".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import re2
from pathspec import PathSpec

_UNSUPPORTED: Final = re.compile(r"[!^]|\\#|.*(?<!\\)[\[\]]").match
"""Patterns that GitHub does not accept, and the sections of other forges."""

_WORD: Final = re.compile(r"(?:\\.|[^\s\\])+")


@dataclass(frozen=True, slots=True)
class OwnerRule:
    """A line of the file.

    Attributes:
        pattern: its pattern.
        owners: its owners, without `@`, in lower case.
        approvals: the number of owners who must approve.
    """

    pattern: FilePattern
    owners: tuple[str, ...]
    approvals: int = 1


@dataclass(frozen=True, slots=True)
class CodeOwners:
    """The owners of a repository's files.

    Attributes:
        sections: the lines of each section, in their order; of each, the last match counts.
        unsupported: the numbers of lines that have another syntax.
    """

    sections: tuple[tuple[OwnerRule, ...], ...] = ()
    unsupported: tuple[int, ...] = ()

    @property
    def approvals(self) -> int:
        """The largest number of owners that a line demands; 1 without lines."""
        return max((rule.approvals for rules in self.sections for rule in rules), default=1)

    def owners_of(self, path: str) -> tuple[str, ...]:
        """Return the owners of a file: logins, teams such as `acme/backend`, e-mail addresses."""
        named = (owner for rule in self._rules_of(path) for owner in rule.owners)
        return tuple(dict.fromkeys(named))

    def find_unowned(
        self, files: Sequence[str], approved: Mapping[str, Collection[str]]
    ) -> Mapping[str, tuple[str, ...]]:
        """Return the files with owners of which too few have approved.

        Args:
            files: the changed files.
            approved: by owner, the logins of those who have approved.

        Returns:
            By file, the owners whose approval is missing.
        """
        missing = {
            file: tuple(
                owner for rule in self._rules_of(file) if _lacks(rule, approved)
                for owner in _name_owners(rule)
            ) for file in files
        }  # fmt: skip
        return {file: owners for file, owners in missing.items() if owners}

    def _rules_of(self, path: str) -> Iterator[OwnerRule]:
        """Yield the rule of each section for a file."""
        for rules in self.sections:
            matching = (rule for rule in reversed(rules) if rule.pattern.match_file(path))
            if (rule := next(matching, None)) is not None:
                yield rule


@dataclass(frozen=True, slots=True)
class OwnerSyntax:
    """The places of CODEOWNERS, of which the first one counts, and its reader."""

    files: tuple[str, ...]
    parse: Callable[[str], CodeOwners]


def parse_owners(text: str) -> CodeOwners:
    """Return the owners that a CODEOWNERS file names. Never fails."""
    rules, unsupported = list[OwnerRule](), list[int]()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        text, *words = _WORD.findall(line)
        pattern = None if _UNSUPPORTED(text) else _compile(text)
        if pattern is None:
            unsupported.append(number)
            continue
        comment = next((at for at, word in enumerate(words) if word.startswith("#")), len(words))
        owners = tuple(word.removeprefix("@").lower() for word in words[:comment])
        rules.append(OwnerRule(pattern, owners))
    return CodeOwners((tuple(rules),), tuple(unsupported))


def _compile(text: str) -> FilePattern | None:
    """Return a pattern in the syntax of `.gitignore`; None if it cannot be used."""
    try:
        (pattern,) = PathSpec.from_lines("gitignore", [text], backend="simple").patterns
    except ValueError:
        return None
    regex = getattr(pattern, "regex", None)
    return compile_pattern(regex.pattern) if regex is not None else None


GITHUB_OWNERS: Final = OwnerSyntax(
    (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"), parse_owners
)


def _lacks(rule: OwnerRule, approved: Mapping[str, Collection[str]]) -> bool:
    """Return whether too few of a rule's owners have approved; a rule without owners lacks none."""
    found = {login for owner in rule.owners for login in approved.get(owner, ())}
    return bool(rule.owners) and len(found) < rule.approvals


def _name_owners(rule: OwnerRule) -> tuple[str, ...]:
    """Return the owners of a rule for a message, the last one with the number of approvals."""
    *others, last = rule.owners
    return (*others, last if rule.approvals < 2 else f"{last} ({rule.approvals} approvals)")


# ---- Patterns of paths that match in linear time, whatever a file of owners contains

MAX_SIZE: Final = 5_000
"""The most instructions of a pattern: a literal path of the longest kind has 4,096."""


@dataclass(frozen=True, slots=True)
class FilePattern:
    """A pattern of paths, by a regular expression of RE2, which does not backtrack.

    Attributes:
        expression: the compiled expression.
        prefix: the text before a path, such as `/`.
    """

    expression: Any
    prefix: str = ""

    @property
    def size(self) -> int:
        """The number of instructions. A match takes at most so many steps for each byte."""
        return int(self.expression.programsize)

    def match_file(self, path: str, /) -> bool:
        """Return whether a path of the repository matches."""
        found = self.expression.search(f"{self.prefix}{path}".encode("utf-8", "surrogateescape"))
        return found is not None


def compile_pattern(expression: str, prefix: str = "") -> FilePattern | None:
    """Return a pattern from a regular expression; None with more than MAX_SIZE instructions."""
    options = re2.Options()
    options.log_errors, options.dot_nl = False, True
    try:
        pattern = FilePattern(re2.compile(expression.encode(), options), prefix)
    except (re2.error, UnicodeEncodeError):
        return None
    return pattern if pattern.size <= MAX_SIZE else None


# ---- The owners of files, by a CODEOWNERS file in the syntax of GitLab
# Each section demands its own approvals. Patterns have the wildcards of a shell, and a folder
# needs a slash at its end. Unclear syntax is reported as unsupported: exclusions (`!`), sets of
# characters (`[ab]`), roles (`@@maintainer`), headings of another form. Source: docs.gitlab.com,
# "Syntax of CODEOWNERS file", "Advanced CODEOWNERS configuration".

_HEADING: Final = re.compile(
    r"(?P<optional>\^)?\[(?P<name>[^\[\]]+)\](?:\[(?P<approvals>\d{1,3})\])?"
    r"(?P<owners>\s.*)?"
).fullmatch
_IS_HEADING: Final = re.compile(r"\^?\[").match
_SEPARATOR: Final = re.compile(r"(?<!\\)\s+")
_OWNER: Final = re.compile(r"@[\w.-]+(?:/[\w.-]+)*|[^@\s()<>,;]+@[^@\s()<>,;]+", re.ASCII).fullmatch
_TOKEN: Final = re.compile(r"/\*\*(?=/)|\*+|\?|\\.|.", re.DOTALL)
_WILDCARDS: Final = {"/**": "(?:/[^/]+)*", "?": "[^/]"}
_UNNAMED: Final = "codeowners"
"""The name of the section before the first heading."""


@dataclass(slots=True)
class _Section:
    """A section; rules by pattern, since a repeated pattern replaces the earlier line."""

    is_optional: bool = True
    rules: dict[str, OwnerRule] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Heading:
    name: str = _UNNAMED
    is_optional: bool = False
    approvals: int = 1
    owners: tuple[str, ...] = ()


def parse_sections(text: str) -> CodeOwners:
    """Return the owners that a CODEOWNERS file of GitLab names. Never fails."""
    sections, unsupported, heading = dict[str, _Section](), list[int](), _Heading()
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if _IS_HEADING(line):
            found = _read_heading(line)
            heading = found or heading
            unsupported += [] if found else [number]
        elif rule := _read_rule(line, heading):
            section = sections.setdefault(heading.name, _Section())
            section.rules[rule[0]] = rule[1]
            section.is_optional = section.is_optional and heading.is_optional
        else:
            unsupported.append(number)
    kept = (section.rules for section in sections.values() if not section.is_optional)
    return CodeOwners(tuple(tuple(rules.values()) for rules in kept), tuple(unsupported))


GITLAB_OWNERS: Final = OwnerSyntax(
    ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"), parse_sections
)


def _read_heading(line: str) -> _Heading | None:
    """Return the heading of a section; None for an unclear heading."""
    found = _HEADING(line)
    owners = _read_owners(found["owners"] or "") if found else None
    if found is None or owners is None or not found["name"].strip():
        return None
    name, count = found["name"].lower(), int(found["approvals"] or 0)
    if name == _UNNAMED or (found["optional"] and count):
        return None
    return _Heading(name, bool(found["optional"]), max(count, 1), owners)


def _read_rule(line: str, heading: _Heading) -> tuple[str, OwnerRule] | None:
    """Return a line's pattern and rule; None for an unsupported or a too large one.

    Words without `@` are comments. A line with words but no owner has none.
    """
    pattern, *rest = _SEPARATOR.split(line, maxsplit=1)
    owners = _read_owners(" ".join(rest))
    if owners is None or pattern.startswith("!") or re.search(r"(?<!\\)[\[\]]", pattern):
        return None
    normal = _normalize(pattern)
    compiled = compile_pattern(f"^{''.join(_translate(normal))}$", prefix="/")
    named = owners if rest else heading.owners
    return (normal, OwnerRule(compiled, named, heading.approvals)) if compiled else None


def _read_owners(text: str) -> tuple[str, ...] | None:
    """Return the owners in a text; None if one is of another form, such as a role."""
    words = [word for word in text.split() if "@" in word]
    if not all(map(_OWNER, words)):
        return None
    return tuple(word.removeprefix("@").lower() for word in words)


def _normalize(pattern: str) -> str:
    """Return a pattern from the root of the repository, and of files."""
    if pattern == "*":
        return "/**/*"
    text = re.sub(r"\\\s+", " ", pattern.removeprefix("\\") if pattern[:2] == "\\#" else pattern)
    rooted = text if text.startswith("/") else f"/**/{text}"
    return f"{rooted}**/*" if rooted.endswith("/") else rooted


def _translate(pattern: str) -> Iterator[str]:
    """Yield the parts of a regular expression."""
    for token in _TOKEN.findall(pattern):
        if token.startswith("*"):
            yield "[^/]*"
        else:
            yield _WILDCARDS.get(token) or re.escape(token[-1] if token[0] == "\\" else token)
