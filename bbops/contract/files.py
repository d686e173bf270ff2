"""The schemas as files: what stands in them, and the names of a project."""

from __future__ import annotations

import json
from collections.abc import Collection

from bbops.contract.editor import Names, schemas
from bbops.project import Project


def schema_files(names: Names | None = None) -> dict[str, str]:
    """Return the text of each schema's file by its name, such as `endpoint.schema.json`."""
    return {
        f"{kind}.schema.json": json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
        for kind, schema in schemas(names).items()
    }


def names_of(project: Project) -> dict[str, list[str]]:
    """Return what a file of the project may refer to, by folder."""
    references = [
        f"{name}.{column}"
        for name, table in project.tables.items()
        for column, found in table.model.columns.items()
        if found.unique or (column,) == table.model.key
    ]
    folders: dict[str, Collection[str]] = {
        "functions": project.functions, "channels": project.channels,
        "endpoints": project.endpoints, "tables": project.tables, "realtime": project.realtime,
    }  # fmt: skip
    return {
        **{folder: sorted({*one, *_broken(project, folder)}) for folder, one in folders.items()},
        "references": sorted(references),
    }


def _broken(project: Project, folder: str) -> set[str]:
    """Return the names of files that cannot be read as they stand: they are there all the same."""
    return {name for kind, name in project.broken if kind == folder}
