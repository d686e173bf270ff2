"""One new file is the whole change: each kind of thing is planted, and seen on all surfaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.drills import COMPLETE, House, commit, house, project

pytestmark = pytest.mark.long

FUNCTION = "functions/loud.yaml"
CALLED = "function: loud\ncases:\n- name: it is loud\n  expect: { value: AB! }\n"
__all__ = ["house"]


# ---- a step
STEP = '''"""shout: a text in capitals, with an exclamation mark."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.base.model import Model
from bbops.language.expressions.types import TEXT, Type
from bbops.language.expressions.values import ValueField
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class ShoutParameters(Model):
    """A text."""

    text: ValueField


class Shout(Step):
    """Give a text in capitals.

    - It ends with an exclamation mark.
    """

    title: ClassVar[str] = "Shout"
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Loud",
            "- shout: { text: ab }\\n  as: loud\\n- return: { value: '${ vars.loud }' }",
            value="AB!",
        ),
    )

    shout: ShoutParameters

    def check(self, at: Checking) -> Type:
        at.need(self.shout.text, "text", "'text'", self.place("text"))
        return TEXT

    def code(self, flow: Flow) -> list[ast.stmt]:
        value = flow.expression("text.upper() + '!'", text=flow.value(self.shout.text))
        return flow.store(self.as_, value)
'''


def test_a_step_is_one_file(house: House, tmp_path: Path) -> None:
    house.plant("bbops/language/steps/shout.py", STEP)
    steps = "steps:\n- shout: { text: %s }\n  as: said\n- return: { value: '${ vars.said }' }\n"
    good = project(tmp_path / "good", {FUNCTION: steps % "ab", "tests/loud.yaml": CALLED})
    assert house.bbops("validate", cwd=good).startswith("no problems")
    assert "1 passed" in house.bbops("test", cwd=good)
    bad = project(tmp_path / "bad", {FUNCTION: steps % "3"})
    assert "'text' needs text, got integer" in house.bbops("validate", cwd=bad)
    assert '"shout"' in house.schema("function.schema.json")
    house.write_docs()
    assert "in capitals" in house.page("docs/language/steps/shout.md")
    assert "steps/shout.md" in house.page("docs/language/steps/README.md").replace("(", "(steps/")
    offered = house.ask(COMPLETE, FUNCTION, "steps:\n- sh", "\n", "complete", cwd=good)
    assert "shout" in offered
    shown = house.ask(COMPLETE, FUNCTION, "steps:\n- sho", "ut: { text: a }\n", "hover", cwd=good)
    assert "Give a text in capitals." in shown
    (told,) = house.agent(good, [("tools/call", {
        "name": "context_schema", "arguments": {"step": "shout"},
    })])  # fmt: skip
    assert "exclamation mark" in str(told)
    assert len(house.planted) == 1


# ---- a check
CHECK = '''"""Functions have names that are easy to say."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.base.diagnostics import Diagnostic
from bbops.compiler.check._checked import CheckedProject


def check(project: CheckedProject) -> Iterator[Diagnostic]:
    """Yield a warning for each name without a vowel."""
    for function in project.functions.values():
        if not set(function.name) & set("aeiou"):
            yield Diagnostic(
                function.place(), "hard-to-say", f"'{function.name}' has no vowel",
                "give it one", severity="warning",
            )  # fmt: skip
'''
CODE = """# Names

## hard-to-say

A function whose name has no vowel.

Nobody can say it.
"""


def test_a_check_is_one_file(house: House, tmp_path: Path) -> None:
    house.plant("bbops/compiler/check/names_to_say.py", CHECK)
    house.plant("docs/errors/names.md", CODE)
    files = {"functions/xyz.yaml": "steps:\n- return: { value: 1 }\n"}
    folder = project(tmp_path / "shop", files)
    assert "'xyz' has no vowel [hard-to-say]" in house.bbops("validate", cwd=folder)
    assert "no vowel" in house.bbops("explain", "hard-to-say", cwd=folder)
    house.write_docs()
    assert "hard-to-say" in house.page("docs/errors.md")
    assert len(house.planted) == 2


# ---- a CLI command
COMMAND = '''"""Count the functions of a project."""

from __future__ import annotations

from pathlib import Path

import click

from bbops.base.console import say


@click.command()
def command() -> None:
    """Count the files in 'functions', in all folders below it."""
    say(str(len(list(Path("functions").rglob("*.yaml")))))
'''


def test_a_command_is_one_file(house: House, tmp_path: Path) -> None:
    house.plant("bbops/interfaces/cli/count_functions.py", COMMAND)
    folder = project(tmp_path / "shop", {FUNCTION: "steps: []\n"})
    assert house.bbops("count-functions", cwd=folder) == "1\n"
    assert "count-functions" in house.bbops("--help", cwd=folder)
    assert "in all folders below it" in house.bbops("count-functions", "--help", cwd=folder)
    asked = {"_BBOPS_COMPLETE": "bash_complete", "COMP_WORDS": "bbops cou", "COMP_CWORD": "1"}
    assert "count-functions" in house.bbops(cwd=folder, env=asked)
    assert len(house.planted) == 1


# ---- a resource kind
KIND = '''"""report: a function whose result is kept for people to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bbops.language.resources._kind import FunctionName, Kind


class Report(Kind):
    """A function whose result people read.

    - `title` stands above it.
    """

    folder: ClassVar[str] = "reports"
    skeleton: ClassVar[str] = "title: {words}\\nfunction: {function}\\n"

    title: str
    function: FunctionName

    @classmethod
    def summarize(cls, body: Mapping[str, Any]) -> str:
        """Return what a list says of a resource beside its description."""
        return f"runs {body.get('function')}"
'''


def test_a_resource_kind_is_one_file(house: House, tmp_path: Path) -> None:
    house.plant("bbops/language/resources/report.py", KIND)
    house.plant("docs/upcoming/reports/sales.yaml", "title: Sales\nfunction: notes/list\n")
    folder = project(tmp_path / "shop", {})
    assert "reports/daily.yaml" in house.bbops("new", "report", "daily", cwd=folder)
    assert (folder / "reports/daily.yaml").read_text() == "title: Daily\nfunction: daily\n"
    assert house.bbops("validate", cwd=folder).startswith("no problems in 3 resources")
    plan = house.bbops("plan", cwd=folder)
    assert "+ reports/daily.yaml" in plan
    commit(folder)
    house.bbops("mv", "functions/daily", "functions/nightly", cwd=folder)
    assert "function: nightly" in (folder / "reports/daily.yaml").read_text()
    wrong = project(tmp_path / "bad", {
        "reports/a.yaml": "title: A\nfunction: dayly\n",
        "functions/daily.yaml": "steps:\n- return: {}\n",
    })  # fmt: skip
    said = house.bbops("validate", cwd=wrong)
    assert "function 'dayly' does not exist [unknown-function]" in said
    assert "did you mean 'daily'?" in said
    assert '"title"' in house.schema("report.schema.json")
    house.write_docs()
    assert "`title` stands above it." in house.page("docs/language/report.md")
    assert "report.md" in house.page("docs/language/README.md")
    offered = house.ask(COMPLETE, "reports/a.yaml", "title: A\nfunction: ", "\n", "complete",
                        cwd=wrong)  # fmt: skip
    assert "daily" in offered
    listed, told = house.agent(folder, [
        ("tools/call", {"name": "context_list", "arguments": {"kind": "report"}}),
        ("tools/call", {"name": "context_schema", "arguments": {"kind": "report"}}),
    ])  # fmt: skip
    assert "runs nightly" in str(listed) or "runs daily" in str(listed)
    assert "function" in str(told)
    assert len(house.planted) == 2  # the kind, and its example
