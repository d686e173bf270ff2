"""Outlines of whole projects: every resource is in them, and every reference resolves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from bbops.review.outline.outline import Outline, StepOutline
from tests.support.outlines import PROJECTS, known_project, open_tree


def every_step(steps: Sequence[StepOutline]) -> Iterator[StepOutline]:
    """Yield steps and the steps inside them."""
    for step in steps:
        yield step
        for block in step.blocks:
            yield from every_step(block.steps)


def names(resources: Sequence[Any]) -> set[str]:
    """Return the names of resources."""
    return {resource.name for resource in resources}


@pytest.mark.parametrize("name", PROJECTS)
def test_outline_survives_json(name: str) -> None:
    found = known_project(name)[1]
    assert msgspec.json.decode(msgspec.json.encode(found), type=Outline) == found


@pytest.mark.parametrize("name", PROJECTS)
def test_outline_has_every_resource(name: str) -> None:
    project, found = known_project(name)
    assert names(found.endpoints) == {*project.endpoints}
    assert names(found.functions) == {*project.functions}
    assert names(found.tables) == {*project.tables}
    assert names(found.channels) == {*project.channels}
    assert names(found.addons) >= {*project.addons}
    assert names(found.variables) == {*project.settings.model.env}
    assert names(found.topics) == {*project.realtime}
    assert names(found.tests) == {*project.tests}
    assert found.files == {
        resource.file for resource in project.every if "/" not in _step(resource)
    }


def _step(resource: Any) -> str:
    """Return the name of an addon's resource: a step has the name of its addon before it."""
    return resource.name if resource.kind == "addon" else ""


@pytest.mark.parametrize("name", PROJECTS)
def test_outline_has_every_step_at_its_line(name: str) -> None:
    project, found = known_project(name)
    for function in found.functions:
        steps = project.functions[function.name].model.every_step
        expected = [
            (step.key, step.mark.line if step.mark else 1, len(step.sets())) for step in steps
        ]
        outlined = every_step(function.steps)
        assert [(step.key, step.line, len(step.sets)) for step in outlined] == expected


@pytest.mark.parametrize("name", PROJECTS)
def test_each_step_fits_one_line(name: str) -> None:
    for function in known_project(name)[1].functions:
        for step in every_step(function.steps):
            assert len(step.effect) <= 160
            assert "\n" not in step.effect
            assert step.title


@pytest.mark.parametrize("name", PROJECTS)
def test_references_resolve(name: str) -> None:
    found = known_project(name)[1]
    functions, endpoints, tables = map(names, (found.functions, found.endpoints, found.tables))
    for endpoint in found.endpoints:
        assert {endpoint.function, *endpoint.middleware} <= functions
        assert {endpoint.channel} <= names(found.channels) | {""}
        assert {*endpoint.tests} <= names(found.tests)
        assert {*endpoint.tables} <= tables
    for function in found.functions:
        assert {*function.callers, *function.enqueued_by} <= functions
        assert {*function.endpoints, *function.middleware_of} <= endpoints
        assert {*function.reads, *function.writes} <= tables
        assert {*function.addons} <= names(found.addons)
    for table in found.tables:
        assert {*table.readers, *table.writers} <= functions
        assert {*table.endpoints} <= endpoints


@pytest.mark.parametrize("name", PROJECTS)
def test_lines_are_lines_of_their_files(name: str) -> None:
    found, tree = known_project(name)[1], open_tree(PROJECTS[name])
    blobs = {entry.path: entry.blob for entry in tree.entries()}
    texts = tree.read([blobs[path] for path in found.files])
    lengths = {path: texts[blobs[path]].count(b"\n") + 1 for path in found.files}
    uses = [use for variable in found.variables for use in variable.uses]
    for resource in (*found.endpoints, *found.functions, *found.tables, *found.variables, *uses):
        assert 1 <= resource.line <= lengths[resource.file]


@pytest.mark.parametrize("name", PROJECTS)
def test_counts_are_the_numbers_of_resources(name: str) -> None:
    found = known_project(name)[1]
    counts = found.counts
    assert counts["functions"] == sum(not function.is_inline for function in found.functions)
    for kind in ("endpoints", "tables", "channels", "variables", "tasks", "topics", "tests"):
        assert counts[kind] == len(getattr(found, kind))
