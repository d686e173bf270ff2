"""A project with cases, and `bbops test` on it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from bbops.interfaces.cli._root_group import RootGroup
from tests.conftest import PROJECT, Files, sample

BOARD = """
input:
  title: string
  secret?: string
steps:
  - insert:
      table: notes
      data:
        title: ${ input.title }
    as: note

  - log:
      message: made ${ vars.note.title }

  - set:
      apiToken: ${ input.secret | default('none') }

  - if: input.title == 'boom'
    then:
      - throw: { status: 409, message: no booms }

  - return:
      status: 201
      value: ${ vars.note }
"""
MAIL = """
input: { to: email }
steps:
  - payments.createCustomer:
      email: ${ input.to }
    as: sent

  - return:
      value: { sent: true }
"""
ADDON = "enabled: true\nconfig: { secretKey: '${ env.PAYMENTS_KEY }' }\n"

RIGHT = """
  - name: a note is made
    input: { title: Milk }
    expect:
      status: 201
      value: { title: Milk }
      check: result.id == 4
      rows: { notes: 4 }
"""
WRONG = """
  - name: many things are wrong
    input: { title: boom, secret: hunter2 }
    expect:
      status: 201
      value: { error: { message: other }, more: 1 }
      check:
        - (result | json | parseJson).error.message == 'x'
        - status + (result | json | parseJson).error
      rows: { notes: 3 }
"""


def write(folder: Path, files: Files) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def project(folder: Path, cases: str, head: str = "function: board\n", **files: str) -> Path:
    every = sample(functions__board=BOARD, functions__mail=MAIL, addons__payments=ADDON, **files)
    del every["tests/double.yaml"]
    every["project.yaml"] = PROJECT.replace(
        "  GREETING", "  PAYMENTS_KEY: { secret: true }\n  GREETING"
    )
    return write(folder, every | {"tests/one.yaml": f"{head}cases:{cases}"})


def bbops_test(folder: Path, *arguments: object) -> Result:
    return CliRunner().invoke(
        RootGroup("bbops"), ["test", "--path", str(folder), *map(str, arguments)]
    )
