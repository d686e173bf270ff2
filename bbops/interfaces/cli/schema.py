"""Write JSON Schemas, with which an editor completes and checks YAML.

With --project they know the names of the project's own resources.
"""

from __future__ import annotations

from pathlib import Path

import click

from bbops.base.console import say
from bbops.base.errors import BbopsError
from bbops.base.render import plural
from bbops.interfaces.cli._examples import examples
from bbops.interfaces.cli.validate import require_project
from bbops.source.tree import FolderTree

OWN_FOLDER = ".bbops/schemas"
"""Where the schemas of one project lie; git ignores it, and the template's editor settings read
it."""


@examples("bbops schema", "bbops schema --project")
@click.command()
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--project", is_flag=True, help=f"Write {OWN_FOLDER} of the project in DIR.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file would change.")
def command(folder: Path, *, project: bool, check: bool) -> int:
    """Write the schemas of all kinds of files, plans and contracts to DIR/schemas; or a project's.

    With --project each reference has the names that the project in DIR has now as its options.
    """
    from bbops.edit.authoring.folder import Folder  # noqa: PLC0415 - pydantic and every step
    from bbops.review.contract.export import schema_file as contract_schema  # noqa: PLC0415
    from bbops.review.contract.files import schema_files  # noqa: PLC0415
    from bbops.review.plan.document import schema_file as plan_schema  # noqa: PLC0415

    every = schema_files(_names(folder) if project else None)
    wanted = every if project else {**every, **contract_schema(), **plan_schema()}
    inner = OWN_FOLDER if project else "schemas"
    target = folder / inner
    found = Folder(target).read(list(wanted)) if target.is_dir() else {}
    changed = {name: text for name, text in wanted.items() if found.get(name) != text.encode()}
    if changed and not check:
        Folder(folder).apply({f"{inner}/{name}": one.encode() for name, one in changed.items()})
    if check and changed:
        say("\n".join(f"would change {target / name}" for name in changed))
        return 1
    say(f"{plural(len(wanted), 'schema')} in {target}, {len(changed)} of them changed")
    return 0


def _names(folder: Path) -> dict[str, list[str]]:
    """Return the names of the project in a folder; mistakes in it do not matter here.

    Raises:
        BbopsError: there is no project that can be read.
    """
    require_project(folder)
    from bbops.language.loading.load import load  # noqa: PLC0415
    from bbops.review.contract.files import names_of  # noqa: PLC0415

    found = load(FolderTree(folder)).project
    if found is None:
        raise BbopsError("project.yaml cannot be read", hint="see 'bbops validate'")
    return names_of(found)
