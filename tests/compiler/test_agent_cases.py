"""Tests of projects about agents: crashes, and answers of the model that are not asked for."""

from __future__ import annotations

import asyncio

import pytest

from bbops.compiler.compile.release import build
from bbops.compiler.testing.outcome import Outcome
from bbops.compiler.testing.running import Runner, choose
from bbops.source.tree import MemoryTree

FILES = {
    "project.yaml": "bbops: 1\nname: work\nenv: { AI_KEY: { secret: true } }\n",
    "addons/aiModel.yaml": 'enabled: true\nconfig: { apiKey: "${ env.AI_KEY }" }\n',
    "agents/clerk.yaml": """
description: Works.
model: { addon: aiModel, name: large }
instructions: Work.
tools: [{ function: add, approval: false }]
runsOn: { chat: { authentication: None } }
""",
    "tables/lines.yaml": """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  text: { type: string, maxLength: 200 }
""",
    "functions/add.yaml": """
description: Adds a line.
input: { text: string }
steps:
  - insert: { table: lines, data: { text: "${ input.text }" } }
  - return: { value: ok }
""",
}


def run(answers: str, more: str = "") -> Outcome:
    """Run a case in which the agent gets these answers."""
    case = f"""
agent: clerk
cases:
  - name: a line
    input: {{ message: Add a line }}
    model: {answers}
    expect: {{ value: {{ answer: Done }}, rows: {{ lines: 1 }} }}
{more}"""
    built = build(MemoryTree({**FILES, "tests/one.yaml": case}))
    assert built.project is not None, [str(found) for found in built.diagnostics]
    with Runner(built) as runner:
        (chosen,) = choose(built.project)
        return asyncio.run(runner.run(chosen))


def wrongs(outcome: Outcome) -> list[str]:
    return [wrong.message for wrong in outcome.wrong]


@pytest.mark.parametrize("answers", [
    "[{ tool: add, args: { text: a } }, { say: Done }]",
    "[{ tool: add }, { tool: add, args: { text: a } }, { say: Done }]",
])  # fmt: skip
def test_a_run_that_crashes_behind_each_commit_gives_the_same_answer(answers: str) -> None:
    assert wrongs(run(answers, "    crash: each\n")) == []


def test_answers_that_are_left_over_fail_the_case() -> None:
    answers = "[{ tool: add, args: { text: a } }, { say: Done }, { say: More }]"
    assert wrongs(run(answers)) == ["'model' has 3 answers, the agent asked for 2"]


def test_a_missing_answer_fails_the_case() -> None:
    found = wrongs(run("[{ tool: add, args: { text: a } }]"))
    assert found[-1] == "'model' has 1 answer, the agent asked for 2"
