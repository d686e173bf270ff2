"""From a checked project to its outline."""

from __future__ import annotations

from collections.abc import Iterable

from bbops.base.diagnostics import Diagnostic
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.compiler.check import CheckedProject
from bbops.review.outline.addons import outline_addons
from bbops.review.outline.outline import Outline
from bbops.review.outline.relations import Relations
from bbops.review.outline.resources import (
    outline_channels,
    outline_endpoints,
    outline_functions,
    outline_tests,
    outline_variables,
)
from bbops.review.outline.tables import outline_tables, outline_topics
from bbops.review.outline.work import (
    outline_agents,
    outline_tasks,
    outline_triggers,
    outline_webhooks,
)


def outline_of(project: CheckedProject, diagnostics: Iterable[Diagnostic]) -> Outline:
    """Return the outline of a project without errors. O(resources), no I/O.

    Args:
        project: the project.
        diagnostics: its warnings.
    """
    settings, relations = project.settings.model, Relations.of(project)
    found = tuple(diagnostics)
    variables = tuple(outline_variables(project))
    addons = tuple(outline_addons(project, found))
    return Outline(
        version=1,
        project=settings.name,
        description=(settings.description or "").strip(),
        engine=settings.database.engine or "",
        users=(settings.auth.users or "") if settings.auth is not None else "",
        counts=_count(project),
        endpoints=tuple(outline_endpoints(relations)),
        functions=tuple(outline_functions(relations)),
        tables=tuple(outline_tables(relations)),
        channels=tuple(outline_channels(relations)),
        variables=variables,
        addons=addons,
        tasks=tuple(outline_tasks(relations)),
        triggers=tuple(outline_triggers(relations)),
        webhooks=tuple(outline_webhooks(relations)),
        topics=tuple(outline_topics(relations)),
        agents=tuple(outline_agents(relations)),
        tests=tuple(outline_tests(project)),
        warnings=tuple(map(JsonDiagnostic.of, found)),
    )


def _count(project: CheckedProject) -> dict[str, int]:
    """Return the number of resources by kind; inline steps are not functions."""
    return {
        "endpoints": len(project.endpoints),
        "functions": len(project.resources["functions"]),
        "tables": len(project.tables),
        "channels": len(project.channels),
        "variables": len(project.settings.model.env),
        "addons": len(project.addons),
        "tasks": len(project.tasks),
        "triggers": len(project.triggers),
        "webhooks": len(project.webhooks),
        "topics": len(project.realtime),
        "agents": len(project.agents),
        "tests": len(project.tests),
    }
