"""The parts of an outline: steps and their blocks, relations, variables, addons."""

from __future__ import annotations

import msgspec
import pytest

from bbops.review.outline.outline import BlockOutline, Outline
from tests.conftest import PROJECT, sample, with_function
from tests.support.outlines import outline, outline_function
from tests.support.small_project import FILES

pytestmark = pytest.mark.quick

BRANCHES = """
input: { size: string, count: integer }
steps:
  - name: Choose
    if: input.count > 3
    then:
      - log: { message: many }
    elif:
      - if: input.count > 1
        then:
          - log: { message: some }
          - log: { message: few }
    else:
      - switch: input.size
        cases:
          small:
            - log: { message: small }
        else:
          - log: { message: other }
  - parallel:
      left:
        - log: { message: left }
      right:
        - log: { message: right }
  - try:
      - loop:
          over: ([1, 2])
          each: number
          steps:
            - log: { message: '${ vars.number }' }
    catch:
      - log: { message: failed }
  - return: { value: { done: true } }
"""


def labels(blocks: tuple[BlockOutline, ...]) -> list[tuple[str, str, int]]:
    """Return label, condition and number of steps of each block."""
    return [(block.label, block.condition, len(block.steps)) for block in blocks]


def test_blocks_have_their_labels() -> None:
    choice, parallel, attempt, _ = outline_function(BRANCHES).steps
    assert (choice.title, choice.effect) == ("Choose", "input.count > 3")
    assert labels(choice.blocks) == [
        ("then", "", 1),
        ("elif", "input.count > 1", 2),
        ("else", "", 1),
    ]
    (switch,) = choice.blocks[2].steps
    assert labels(switch.blocks) == [("small", "", 1), ("else", "", 1)]
    assert labels(parallel.blocks) == [("left", "", 1), ("right", "", 1)]
    assert labels(attempt.blocks) == [("try", "", 1), ("catch", "", 1)]
    (loop,) = attempt.blocks[0].steps
    assert labels(loop.blocks) == [("steps", "", 1)]
    assert (loop.effect, loop.sets) == ("([1, 2]) · each: number", ("number",))


def test_effect_is_one_line_of_parameters() -> None:
    find, insert, answer = outline_function("""
input: { id: integer }
steps:
  - find:
      table: notes
      where: >-
        id == input.id
        and not done
      orderBy: [title, id]
      one: true
    as: note
  - insert: { table: notes, data: { title: a, done: false } }
    as: added
  - return: { status: 201, value: '${ [vars.note, vars.added] }' }
""").steps
    assert find.effect == "notes · id == input.id and not done · orderBy: 2 items · one: true"
    assert (find.sets, find.title, find.line) == (("note",), "Database Query: find", 4)
    assert insert.effect == "notes · data: title, done"
    assert answer.effect == "status: 201 · value: ${ [vars.note, vars.added] }"


def test_long_effect_is_cut() -> None:
    (step, _) = outline_function(
        f"steps:\n  - log: {{ message: {'long ' * 60} }}\n  - return: {{ value: 1 }}\n"
    ).steps
    assert len(step.effect) <= 160
    assert step.effect.endswith("…")


def test_inputs_have_their_types() -> None:
    function = outline_function("""
query: { 'page?': integer }
input:
  id: uuid
  tags: { type: 'string[]?', enum: [a, b] }
  lines: { items: { fields: { name: string, count: integer } } }
  sort: { type: string, default: id, description: The order. }
steps:
  - return: { value: '${ input.id }' }
""")
    given = [(field.part, field.name, field.type, field.is_required) for field in function.inputs]
    assert given == [
        ("query", "page", "integer", False), ("input", "id", "uuid", True),
        ("input", "tags", "string[]? (a, b)", True), ("input", "lines", "{name, count}[]", True),
        ("input", "sort", "string", False),
    ]  # fmt: skip
    assert function.inputs[-1].description == "The order."


CHANNEL = """
name: Desk
basePath: /desk
authentication: JWT
rateLimit: 30
middleware: [guard]
"""
ENDPOINT = "method: GET\npath: /{path}\nfunction: run\nchannel: desk\ndescription: One.\n"
IN_CHANNEL = {
    **sample(
        channels__desk=CHANNEL,
        endpoints__own=ENDPOINT.format(path="own") + "authentication: Optional\nrateLimit: 5\n",
        endpoints__shared=ENDPOINT.format(path="shared") + "docsVisibility: hidden\n",
        functions__guard="steps:\n  - log: { message: guard }\n",
        functions__run="steps:\n"
        "  - call: { function: double, input: { number: 2 } }\n    as: four\n"
        "  - return: { value: '${ vars.four }' }\n",
        tests__run="endpoint: shared\ncases:\n  - name: answers\n    auth: { userId: 1 }\n"
        "    expect: { status: 200 }\n",
    ),
    "project.yaml": PROJECT,
}  # fmt: skip


@pytest.fixture(scope="module")
def desk() -> Outline:
    return outline(IN_CHANNEL)


def test_endpoint_says_which_settings_are_inherited(desk: Outline) -> None:
    own, shared = desk.endpoints
    assert (own.authentication, own.is_inherited, own.rate_limit) == ("Optional", False, "5/min")
    assert (shared.authentication, shared.is_inherited, shared.rate_limit) == (
        "JWT",
        True,
        "30/min",
    )
    assert (shared.path, shared.middleware, shared.docs) == ("/desk/shared", ("guard",), "hidden")
    assert (shared.id, shared.tests, shared.history) == ("shared", ("run",), "meta")


def test_function_says_what_runs_it(desk: Outline) -> None:
    double, guard, run = desk.functions
    assert (double.callers, double.tests) == (("run",), ("double",))
    assert (guard.middleware_of, guard.endpoints) == (("own", "shared"), ())
    assert run.endpoints == ("own", "shared")


def test_channel_has_its_endpoints(desk: Outline) -> None:
    (channel,) = desk.channels
    assert (channel.endpoints, channel.middleware) == (("own", "shared"), ("guard",))
    assert channel.cors.origins == ("*",)


def test_test_file_has_its_cases(desk: Outline) -> None:
    test = next(test for test in desk.tests if test.name == "run")
    assert (test.kind, test.target) == ("endpoint", "shared")
    assert [(case.name, case.line) for case in test.cases] == [("answers", 3)]


LINES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  note_id: { type: integer, references: notes.id }
  amount: { type: integer, default: 1 }
  kind: { type: string, enum: [big, small], nullable: true, private: true }
  twice: { computed: amount * 2 }
indexes:
  big: { columns: [amount], where: amount > 5 }
checks:
  positive: amount > 0
access: { read: true, write: amount < 9 }
"""


def test_table_has_columns_and_rules() -> None:
    table = outline(sample(tables__lines=LINES)).tables[0]
    key, reference, amount, kind, twice = table.columns
    assert (key.is_primary, key.default, key.line) == (True, "increment", 3)
    assert (reference.references, amount.default) == ("notes.id", "1")
    assert (kind.enum, kind.is_nullable, kind.is_private) == (("big", "small"), True, True)
    assert (twice.computed, twice.line) == ("amount * 2", 7)
    assert [(index.name, index.where) for index in table.indexes] == [("big", "amount > 5")]
    assert [(rule.name, rule.condition) for rule in table.rules] == [
        ("access read", "true"), ("access write", "amount < 9"), ("check positive", "amount > 0"),
    ]  # fmt: skip


def test_table_knows_its_readers_and_writers() -> None:
    files = {
        **with_function("""
steps:
  - find: { table: lines, select: { title: note.title } }
    as: lines
  - call: { function: keep }
  - return: { value: '${ vars.lines }' }
"""),
        "tables/lines.yaml": LINES.partition("access:")[0],
        "functions/keep.yaml": "steps:\n"
        "  - sql: { statement: 'UPDATE lines SET amount = 3', mode: write }\n"
        "  - insert: { table: notes, data: { title: kept } }\n",
    }
    lines, notes = outline(files).tables
    assert (lines.readers, lines.writers, lines.endpoints) == (("run",), ("keep",), ("run",))
    assert (notes.readers, notes.writers, notes.endpoints) == (("run",), ("keep",), ("run",))
    assert notes.referring == ("lines.note_id",)


def test_variables_have_uses_but_no_values() -> None:
    found = outline(FILES)
    greeting, secret = found.variables
    assert [(use.file, use.line) for use in greeting.uses] == [("functions/hello.yaml", 2)]
    assert (greeting.has_default, greeting.is_required) == (True, False)
    assert (secret.is_secret, secret.is_generated, secret.uses) == (True, True, ())
    assert "'hello'" not in repr(found.variables)


MAIL = "  - email.sendEmail: { to: a@example.com, subject: Hi, text: Hello }\n"


def test_addon_without_a_file_is_listed_with_its_problem() -> None:
    found = outline(with_function(f"steps:\n{MAIL}  - return: {{ value: 1 }}\n"))
    (addon,) = found.addons
    assert (addon.name, addon.file, addon.is_enabled, addon.is_own) == ("email", "", False, False)
    assert [(step.key, step.functions) for step in addon.steps] == [("email.sendEmail", ("run",))]
    assert [problem.code for problem in addon.problems] == ["addon-disabled"]
    assert addon.missing
    assert [warning.code for warning in found.warnings] == ["addon-disabled"]


def test_outline_has_topics_triggers_and_tasks() -> None:
    found = outline({
        **sample(
            functions__run="steps:\n  - log: { message: ran }\n",
            tasks__nightly="schedule: 0 3 * * *\nfunction: run\n",
            tasks__often="every: 10s\nfunction: run\nenabled: false\nonDead: run\n",
            triggers__added="function: run\n"
            "database: { table: notes, operation: insert, where: done }\n",
            triggers__done="event: [note.done]\nwhere: event.name != ''\nfunction: run\n",
            realtime__notes="topic: notes/:id\nauthentication: None\n"
            "rows: { table: notes, select: [id, title] }\n"
            "history: { size: 10, for: 1h }\n",
        ),
    })  # fmt: skip
    nightly, often = found.tasks
    assert (nightly.schedule, often.schedule) == ("0 3 * * * UTC", "every 10s")
    assert (often.is_enabled, often.on_dead) == (False, "run")
    added, done = found.triggers
    assert (added.kind, added.events, added.condition) == ("database", ("notes insert",), "done")
    assert (done.kind, done.events, done.condition) == ("event", ("note.done",), "event.name != ''")
    (topic,) = found.topics
    assert (topic.table, topic.history) == ("notes", "10 for 1h")
    notes = found.tables[0]
    assert (notes.topics, notes.triggers) == (("notes",), ("added",))
    run = next(function for function in found.functions if function.name == "run")
    assert (run.tasks, run.triggers) == (("nightly", "often"), ("added", "done"))


AGENT = """
description: Helps.
model: { addon: aiModel, name: large, prices: { input: 1, output: 2 } }
instructions: Help.
tools:
  - double
  - { function: other, approval: "args.amount > 50" }
  - { function: third, approval: true }
  - { function: fourth, approval: false }
runsOn: { chat: { authentication: JWT }, schedule: 0 8 * * 1 }
output: { answer: text, score?: integer }
memory: { messages: 20, for: 7d }
limits: { tokens: 5000, money: 2.5 }
onDead: double
enabled: false
"""
TOOL = "description: A tool.\ninput: { amount: integer }\nsteps:\n  - return: { value: 1 }\n"


def test_an_agent_shows_its_approvals_memory_output_and_limits() -> None:
    functions = {f"functions__{name}": TOOL for name in ("other", "third", "fourth")}
    addon = 'enabled: true\nconfig: { apiKey: "${ env.JWT_SECRET }" }\n'
    (agent,) = outline(
        sample(agents__helper=AGENT, addons__aiModel=addon, **functions)
    ).agents  # fmt: skip
    assert agent.tools == ("double", "other", "third", "fourth")
    waiting = [(approval.tool, approval.condition) for approval in agent.approvals]
    assert waiting == [("other", "args.amount > 50"), ("third", "")]
    assert (agent.memory, agent.output) == ("20 messages for 7d", ("answer", "score"))
    assert agent.limits == (
        "10 steps", "60s", "5000 tokens", "a cost of 2.5", "4 runs at a time",
    )  # fmt: skip
    assert (agent.starts, agent.enabled, agent.on_dead) == (("chat", "schedule"), False, "double")


def test_a_test_of_an_agent_survives_json() -> None:
    addon = 'enabled: true\nconfig: { apiKey: "${ env.JWT_SECRET }" }\n'
    functions = {f"functions__{name}": TOOL for name in ("other", "third", "fourth")}
    agent = AGENT.replace("onDead: double\nenabled: false\n", "")
    case = "agent: helper\ncases: [{ name: hello, model: [{ say: Hi }], expect: {} }]\n"
    files = sample(agents__helper=agent, addons__aiModel=addon, tests__helper=case, **functions)
    found = outline(files)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Outline) == found
    (test,) = (test for test in found.tests if test.name == "helper")
    assert (test.kind, test.target) == ("agent", "helper")
