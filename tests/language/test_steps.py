"""Every step kind: it is one file with its example, and the example does what it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bbops.language.steps
from bbops.base.errors import ProjectError
from bbops.compiler.compile.release import build
from bbops.compiler.testing.outcome import Wrong
from bbops.compiler.testing.running import Runner, choose
from bbops.language.steps import _base
from bbops.language.steps._base import Example, step_kinds
from bbops.source.tree import MemoryTree
from tests.conftest import BESIDE, Files, with_function
from tests.docs.examples import function_of, project_of

pytestmark = pytest.mark.quick

KINDS = sorted(step_kinds())
EXAMPLES = [(kind, example) for kind in KINDS for example in step_kinds()[kind].examples]


@pytest.mark.parametrize("kind", KINDS)
def test_step_kind_has_a_title_and_an_example(kind: str) -> None:
    assert step_kinds()[kind].title
    assert step_kinds()[kind].examples


def _is_named(path: str, steps: str) -> bool:
    return Path(path).stem in steps


@pytest.mark.parametrize(
    ("kind", "example"), EXAMPLES, ids=[f"{k}: {e.title}" for k, e in EXAMPLES]
)
def test_example_of_step_does_what_it_says(
    kind: str, example: Example, ask: Callable[..., Any]
) -> None:
    assert f"{kind}:" in example.steps
    files = project_of(example)
    if example.is_job:
        files["tests/shown.yaml"] = _case(example)
        assert _outcome(files) == ()
        return
    files |= {path: text for path, text in BESIDE.items() if _is_named(path, example.steps)}
    reply = ask(files, "POST", "/run", example.input, base=MemoryTree(files))
    assert (reply.status, reply.json) == (example.status, example.value)


def _case(example: Example) -> str:
    value = json.dumps(example.value)
    return f"function: shown\ncases: [{{ name: shown, expect: {{ value: {value} }} }}]\n"


def _outcome(files: Files) -> tuple[Wrong, ...]:
    built = build(MemoryTree(files))
    assert built.project is not None, built.diagnostics
    with Runner(built) as runner:
        (case,) = choose(built.project, "shown::shown")
        return asyncio.run(runner.run(case)).wrong


def test_a_new_step_kind_is_one_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[..., Any]
) -> None:
    (tmp_path / "shout.py").write_text(PLANTED)
    monkeypatch.setattr(
        bbops.language.steps, "__path__", [*bbops.language.steps.__path__, str(tmp_path)]
    )
    _base.step_kinds.cache_clear()
    try:
        (example,) = step_kinds()["shout"].examples
        reply = ask(with_function(function_of(example)), "POST", "/run", example.input)
        assert (reply.status, reply.json) == (200, example.value)
        wrong = with_function("steps:\n  - shuot: { text: hi }\n")
        with pytest.raises(ProjectError, match="did you mean 'shout'"):
            ask(wrong, "POST", "/run")
    finally:
        _base.step_kinds.cache_clear()


PLANTED = '''"""shout: make a text loud."""

from __future__ import annotations

import ast
from typing import ClassVar

from bbops.language.expressions.types import TEXT, Type
from bbops.language.expressions.values import ValueField
from bbops.base.model import Model
from bbops.language.steps._base import Checking, Example, Step
from bbops.language.steps._flow import Flow


class ShoutParameters(Model):
    """What to shout."""

    text: ValueField


class Shout(Step):
    """Give the text in capitals."""

    title: ClassVar[str] = "Shout"
    examples: ClassVar[tuple[Example, ...]] = (
        Example(
            "Shout",
            "- shout: { text: hello }\\n  as: loud\\n- return:\\n    value: ${ vars.loud }",
            value="HELLO",
        ),
    )

    shout: ShoutParameters

    def check(self, at: Checking) -> Type:
        at.value(self.shout.text)
        return TEXT

    def code(self, flow: Flow) -> list[ast.stmt]:
        text = flow.value(self.shout.text)
        return flow.store(self.as_, flow.expression("upper(text)", upper="filter:upper", text=text))
'''
