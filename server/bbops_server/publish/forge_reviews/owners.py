"""The owners of files, by a CODEOWNERS file in the syntax of GitHub.

Patterns are those of `.gitignore`; the last line that matches a file counts.
Source: docs.github.com, "About code owners".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pathspec import PathSpec

from bbops_server.publish.forge_reviews.file_patterns import FilePattern, compile_pattern

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
