"""Names of other resources must exist."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic, suggest_resource
from bbops.base.model import Model
from bbops.base.names import moved_hint
from bbops.language.loading.load import kinds
from bbops.language.project import Project
from bbops.language.resources._kind import references_of


def check(project: Project) -> Iterator[Diagnostic]:
    """Yield every reference to something that is not there."""
    for resource in project.every:
        model: type[Model] = type(resource.model)
        for reference in references_of(model):
            folder, kind = reference.folder, kinds()[reference.folder].id()
            known = project.resources[folder]
            for path, name in reference.find(resource.model):
                if name not in known and (folder, name) not in project.broken:
                    yield Diagnostic(
                        resource.place(*path), f"unknown-{kind}", f"{kind} '{name}' does not exist",
                        moved_hint(project.inline if folder == "functions" else (), name)
                        or suggest_resource(name, folder, known),
                    )  # fmt: skip
