"""Write a project's files in one style.

Comments and values stay. With --check, no file is written, and the exit code is 1 if a file would
change.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from bbops.base.console import say, wants_color
from bbops.base.diagnostics import Diagnostic
from bbops.base.errors import BbopsError
from bbops.base.render import as_json as to_json
from bbops.base.render import plural, printable, render
from bbops.interfaces.cli._command_group import examples


@examples("bbops fmt", "bbops fmt --check functions")
@click.command()
@click.argument("paths", metavar="[PATHS]", nargs=-1, type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file would change.")
@click.option(
    "--stdin", is_flag=True,
    help="Read one file from stdin and print it; PATHS then gives its path.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the files as JSON.")
def command(paths: tuple[Path, ...], *, check: bool, stdin: bool, as_json: bool) -> int:
    """Write the project's files in one style: the files or folders in PATHS, else all.

    Indents by two spaces, quotes only where needed, orders keys as the reference does, and ends
    lines with LF. Comments are kept. A file that is not valid YAML is reported and left unchanged.
    """
    if stdin:
        return _format_stdin(paths, check=check)
    changed, unchanged = list[str](), 0
    diagnostics: list[Diagnostic] = []
    for root, chosen in _by_project(paths or (Path(),)).items():
        formatted, problems, left = _format_project(root, chosen, check=check)
        changed += (_relative(root / path) for path in formatted)
        unchanged += left
        diagnostics += problems
    if as_json:
        say(json.dumps({"changed": changed, "diagnostics": list(map(to_json, diagnostics))}))
    else:
        _print_result(changed, unchanged, diagnostics, check=check)
    return int(bool(diagnostics) or (check and bool(changed)))


def _print_result(
    changed: list[str], unchanged: int, diagnostics: list[Diagnostic], *, check: bool
) -> None:
    for path in changed:
        say(f"{'would format' if check else 'formatted'} {printable(path)}")
    if diagnostics:
        say(render(diagnostics, "text", color=wants_color(sys.stdout)))
    if not diagnostics or changed:
        say(_summary(len(changed), unchanged, check=check))


def _summary(changed: int, unchanged: int, *, check: bool) -> str:
    if not changed:
        return f"nothing to do in {plural(unchanged, 'file')}"
    word = "would change" if check else "changed"
    return f"{plural(changed, 'file')} {word}, {unchanged} unchanged"


def _format_stdin(paths: tuple[Path, ...], *, check: bool) -> int:
    from bbops.edit.authoring.folder import find_root  # noqa: PLC0415 - pydantic
    from bbops.edit.authoring.formatting import format_file  # noqa: PLC0415

    if len(paths) > 1:
        raise BbopsError(f"--stdin takes one path, got {len(paths)} paths")
    path = paths[0].resolve() if paths else Path("stdin.yaml").resolve()
    root = find_root(path.parent)
    name = path.relative_to(root).as_posix() if root else path.name
    data = sys.stdin.buffer.read()
    formatted = format_file(name, data)
    if formatted.diagnostics:
        click.echo(render(formatted.diagnostics, "text", color=wants_color(sys.stderr)), err=True)
        return 1
    text = formatted.text.encode()
    if not check:
        sys.stdout.buffer.write(text)
    return int(check and text != data)


def _by_project(paths: tuple[Path, ...]) -> dict[Path, list[Path]]:
    """Return the given paths by the project that contains each.

    Raises:
        BbopsError: a path does not exist, or is in no project.
    """
    from bbops.edit.authoring.folder import find_root  # noqa: PLC0415 - pydantic

    projects: dict[Path, list[Path]] = {}
    for path in paths:
        if not path.exists():
            raise BbopsError(f"'{path}' does not exist")
        root = find_root(path)
        if root is None:
            hint = "give a project's folder, or files in one"
            raise BbopsError(f"project.yaml is missing in or above '{path}'", hint=hint)
        projects.setdefault(root, []).append(path.resolve())
    return projects


def _format_project(
    root: Path, chosen: list[Path], *, check: bool
) -> tuple[list[str], list[Diagnostic], int]:
    """Return the changed files, the diagnostics of others, and the number of unchanged files."""
    from bbops.edit.authoring.folder import Folder  # noqa: PLC0415 - pydantic
    from bbops.edit.authoring.formatting import format_file, is_resource  # noqa: PLC0415

    folder = Folder(root)
    names = [path for path in folder.paths if is_resource(path) and _is_in(root / path, chosen)]
    changes: dict[str, bytes | None] = {}
    problems: list[Diagnostic] = []
    texts = folder.read(names)
    for name, data in texts.items():
        formatted = format_file(name, data)
        problems += formatted.diagnostics
        if not formatted.diagnostics and formatted.text.encode() != data:
            changes[name] = formatted.text.encode()
    if changes and not check:
        folder.apply(changes)
    invalid = {problem.place.file for problem in problems}
    return list(changes), problems, len(texts) - len(changes) - len(invalid)


def _is_in(path: Path, chosen: list[Path]) -> bool:
    return any(path.is_relative_to(root) for root in chosen)


def _relative(path: Path) -> str:
    current = Path.cwd().resolve()
    return path.relative_to(current).as_posix() if path.is_relative_to(current) else str(path)
