"""docs/people.md is executed; its table of roles is the one that every route is held against."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bbops_server.accounts.rules import RULES, Permission
from bbops_server.settings.server_file.load import load
from tests.conftest import ROOT
from tests.support.shell import console, squeezed, try_console

pytestmark = pytest.mark.long

PAGE = (ROOT / "docs/people.md").read_text()
CONSOLE = console(PAGE)
YAML = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
ROW = re.compile(r"^\| ([a-zA-Z':, ]+) \| ([a-z ]+) \| (\w+) \|$", re.MULTILINE)


def test_every_console_block_prints_what_it_shows(tmp_path: Path) -> None:
    try_console(CONSOLE, tmp_path, tidy=squeezed)


def test_every_yaml_block_is_a_servers_file() -> None:
    assert YAML
    for text in YAML:
        assert load("server.yaml", text.encode(), {}).diagnostics == ()


def test_the_table_of_roles_is_the_one_in_force() -> None:
    told = {what: (role, scope) for what, role, scope in ROW.findall(PAGE) if what != "may"}
    expected = {}
    for permission, rule in RULES.items():
        if permission is Permission.BE_ANYBODY:
            continue
        where = " of the workspace" if rule.where == "workspace" else ""
        role = f"{rule.role}{where}" if rule.role else "any account"
        expected[permission.value] = (role, str(rule.scope or "none"))
    assert told == expected
