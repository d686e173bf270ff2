"""The owners of files, by a CODEOWNERS file in the syntax of GitHub.

Patterns are those of `.gitignore`; the last line that matches a file counts.
Source: docs.github.com, "About code owners".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pathspec import PathSpec

OWNER_FILES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""The places of the file; the first one counts."""

_UNSUPPORTED: Final = re.compile(r"[!^]|\\#|.*(?<!\\)[\[\]]").match
"""Patterns that GitHub does not accept, and the sections of other forges."""

_WORD: Final = re.compile(r"(?:\\.|[^\s\\])+")


@dataclass(frozen=True, slots=True)
class OwnerRule:
    """A line of the file: a pattern and its owners, without `@`, in lower case."""

    pattern: PathSpec[Any]
    owners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodeOwners:
    """The owners of a repository's files.

    Attributes:
        rules: the lines, in their order.
        unsupported: the numbers of lines that have another syntax.
    """

    rules: tuple[OwnerRule, ...] = ()
    unsupported: tuple[int, ...] = ()

    def owners_of(self, path: str) -> tuple[str, ...]:
        """Return the owners of a file: logins, teams such as `acme/backend`, e-mail addresses."""
        matching = (rule for rule in reversed(self.rules) if rule.pattern.match_file(path))
        return next((rule.owners for rule in matching), ())

    def find_unowned(
        self, files: Sequence[str], approved: Mapping[str, bool]
    ) -> Mapping[str, tuple[str, ...]]:
        """Return the files with owners of which none has approved.

        Args:
            files: the changed files.
            approved: by owner, whether they have approved.
        """
        owned = {file: self.owners_of(file) for file in files}
        return {
            file: owners for file, owners in owned.items()
            if owners and not any(approved.get(owner) for owner in owners)
        }  # fmt: skip


def parse_owners(text: str) -> CodeOwners:
    """Return the owners that a CODEOWNERS file names. Never fails."""
    rules, unsupported = list[OwnerRule](), list[int]()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pattern, *words = _WORD.findall(line)
        if _UNSUPPORTED(pattern):
            unsupported.append(number)
            continue
        comment = next((at for at, word in enumerate(words) if word.startswith("#")), len(words))
        owners = tuple(word.removeprefix("@").lower() for word in words[:comment])
        rules.append(OwnerRule(PathSpec.from_lines("gitignore", [pattern]), owners))
    return CodeOwners(tuple(rules), tuple(unsupported))
