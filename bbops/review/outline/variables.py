"""Variables of `env`: their declarations and their uses, never their values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from bbops.language.project import Project, Resource
from bbops.review.outline.outline import SourceLine, VariableOutline
from bbops.review.outline.places import line_of
from bbops.source.yaml.document import Text

_READ: Final = re.compile(r"""\benv(?:\.|\[\s*["'])([A-Z][A-Z0-9_]{0,62})\b""")
_PROSE: Final = frozenset({"description", "instructions"})


def outline_variables(project: Project) -> Iterator[VariableOutline]:
    """Yield the declared variables by name. O(length of the files that read any)."""
    settings, uses = project.settings, find_variables(project.every)
    for name, variable in sorted(settings.model.env.items()):
        yield VariableOutline(
            name=name,
            file=settings.file,
            line=line_of(settings, "env", name),
            is_secret=variable.secret,
            is_generated=variable.generate,
            has_default=variable.default is not None,
            is_required=not variable.may_be_missing,
            description=(variable.description or "").strip(),
            uses=tuple(sorted(uses.get(name, ()), key=lambda use: (use.file, use.line))),
        )


def find_variables(resources: Iterator[Resource[Any]]) -> Mapping[str, set[SourceLine]]:
    """Return the lines that read each variable."""
    found: defaultdict[str, set[SourceLine]] = defaultdict(set)
    for resource in resources:
        if "env" not in resource.document.source:
            continue
        for text in _texts(resource.document.root):
            for match in _READ.finditer(text):
                line, _ = resource.document.position(text.mark, match.start())
                found[match[1]].add(SourceLine(resource.file, line))
    return found


def _texts(node: Any) -> Iterator[Text]:
    match node:
        case Text():
            yield node
        case dict():
            for key, value in node.items():
                if key not in _PROSE:
                    yield from _texts(value)
        case list():
            for value in node:
                yield from _texts(value)
