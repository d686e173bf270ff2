"""The owners of files, by a CODEOWNERS file in the syntax of GitLab.

Each section demands its own approvals. Patterns have the wildcards of a shell, and a folder needs a
slash at its end. Unclear syntax is reported as unsupported: exclusions (`!`), sets of characters
(`[ab]`), roles (`@@maintainer`), headings of another form.
Source: docs.gitlab.com, "Syntax of CODEOWNERS file", "Advanced CODEOWNERS configuration".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from bbops_server.publish.forge_reviews.file_patterns import compile_pattern
from bbops_server.publish.forge_reviews.owners import CodeOwners, OwnerRule, OwnerSyntax

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
