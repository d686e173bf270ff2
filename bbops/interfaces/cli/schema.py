"""Write JSON Schemas, with which an editor completes and checks YAML.

With --project they contain the names of the project's own resources.
"""

from __future__ import annotations

from pathlib import Path

import click

from bbops.base.console import say
from bbops.base.errors import BbopsError
from bbops.base.render import plural
from bbops.interfaces.cli._command_group import examples
from bbops.interfaces.cli.validate import require_project
from bbops.source.tree import FolderTree

OWN_FOLDER = ".bbops/schemas"
"""The folder with the schemas of a project; git ignores it, and the template's editor settings read
it."""


@examples("bbops schema", "bbops schema --project")
@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--project", is_flag=True, help=f"Write {OWN_FOLDER} of the project in DIR.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file would change.")
def command(folder: Path, *, project: bool, check: bool) -> int:
    """Write the schemas of all kinds of files, plans and contracts to DIR/schemas; or a project's.

    With --project the options of each reference are the names in the project in DIR.
    """
    from bbops.edit.authoring.folder import Folder  # noqa: PLC0415 - pydantic and every step
    from bbops.review.contract.files import schema_file as contract_schema  # noqa: PLC0415
    from bbops.review.contract.files import schema_files  # noqa: PLC0415
    from bbops.review.plan.plan import schema_file as plan_schema  # noqa: PLC0415

    all_schemas = schema_files(_names(folder) if project else None)
    if not project:
        all_schemas = {**all_schemas, **contract_schema(), **plan_schema()}
    inner = OWN_FOLDER if project else "schemas"
    target = folder / inner
    current = Folder(target).read(list(all_schemas)) if target.is_dir() else {}
    changed = {
        name: text for name, text in all_schemas.items() if current.get(name) != text.encode()
    }
    if changed and not check:
        Folder(folder).apply({f"{inner}/{name}": text.encode() for name, text in changed.items()})
    if check and changed:
        say("\n".join(f"would change {target / name}" for name in changed))
        return 1
    say(f"{plural(len(all_schemas), 'schema')} in {target}, {len(changed)} of them changed")
    return 0


def _names(folder: Path) -> dict[str, list[str]]:
    """Return the names in the project of a folder, which may have errors.

    Raises:
        BbopsError: project.yaml cannot be read.
    """
    require_project(folder)
    from bbops.language.loading.load import load  # noqa: PLC0415
    from bbops.review.contract.files import names_of  # noqa: PLC0415

    project = load(FolderTree(folder)).project
    if project is None:
        raise BbopsError("project.yaml cannot be read", hint="see 'bbops validate'")
    return names_of(project)
