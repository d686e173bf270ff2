"""`bbops test`: cases on fresh databases, mocks for the world, and what a failure tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bbops.interfaces.cli._root_group import RootGroup
from tests.conftest import TEMPLATE
from tests.support.cases import RIGHT, WRONG, bbops_test, project
from tests.support.served import git

UNTYPED = "(result | json | parseJson)"


@pytest.mark.long
def test_the_template_passes_its_own_tests() -> None:
    result = bbops_test(TEMPLATE)
    assert (result.exit_code, result.stdout.splitlines()[-1][:9]) == (0, "16 passed")


def test_every_case_has_a_database_of_its_own(tmp_path: Path) -> None:
    result = bbops_test(project(tmp_path, RIGHT + RIGHT.replace("is made", "is made again")))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("tests/one.yaml: 2 cases passed\n2 passed in ")


def test_a_decimal_column_takes_numbers_and_texts_of_test_data(tmp_path: Path) -> None:
    files = {
        "project.yaml": "bbops: 1\nname: prices\n",
        "tables/items.yaml": (
            "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
            "  price: { type: decimal }\n"
        ),
        "functions/list.yaml": (
            "steps:\n  - find: { table: items, orderBy: id.asc }\n    as: items\n"
            "  - return: { value: \"${ vars.items | pluck('price') | join(' ') }\" }\n"
        ),
        "tests/list.yaml": (
            "function: list\ndata:\n"
            "  items: [{ id: 1, price: 10 }, { id: 2, price: 1.5 }, { id: 3, price: '2.50' }]\n"
            "cases:\n  - name: all are kept\n    expect: { value: 10 1.5 2.50 }\n"
        ),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    result = bbops_test(tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("tests/list.yaml: 1 case passed\n")


def test_a_failure_tells_every_expectation_at_its_line(tmp_path: Path) -> None:
    result = bbops_test(project(tmp_path, RIGHT + WRONG))
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "tests/one.yaml:11:5: failed: one: many things are wrong"
    assert lines[1:7] == [
        "    tests/one.yaml:14: expected status 201, found 409: no booms",
        '    tests/one.yaml:15: value.error.message: expected "other", found "no booms"',
        "    tests/one.yaml:15: value.more: expected 1, found no such key",
        f"    tests/one.yaml:17: expected true, found false: {UNTYPED}.error.message == 'x'",
        lines[5],
        "    tests/one.yaml:19: expected 3 rows in 'notes', found 4",
    ]
    assert lines[5].startswith("    tests/one.yaml:18: cannot evaluate the check: '+' needs two")
    assert lines[-1].startswith("1 failed, 1 passed in ")


def test_a_failure_tells_the_steps_without_secrets(tmp_path: Path) -> None:
    result = bbops_test(project(tmp_path, WRONG))
    steps = result.stdout.partition("    steps:\n")[2].splitlines()
    assert [line.split()[:2] for line in steps[:5]] == [
        ["functions/board.yaml:6", "insert"],
        ["functions/board.yaml:12", "log"],
        ["functions/board.yaml:15", "set"],
        ["functions/board.yaml:18", "if"],
        ["functions/board.yaml:20", "throw"],
    ]
    assert 'note = {"id":4,"title":"boom","done":false}' in steps[0]
    assert "apiToken = ***" in steps[2]
    assert "hunter2" not in result.stdout
    assert "    log: info: made boom (functions/board.yaml:12)" in result.stdout


def test_the_world_answers_by_mocks_only(tmp_path: Path) -> None:
    cases = """
  - name: mocked
    input: { to: ada@example.com }
    mocks: { payments.createCustomer: { id: m1 } }
    expect:
      value: { sent: true }
      calls:
        payments.createCustomer: [{ email: ada@example.com }]
  - name: not mocked
    input: { to: ada@example.com }
    expect: { status: 500 }
  - name: mocked as an error
    input: { to: ada@example.com }
    mocks: { payments.createCustomer: { error: { status: 503, message: out of ink } } }
    expect: { status: 200 }
  - name: other calls
    input: { to: ada@example.com }
    mocks: { payments.createCustomer: { id: m1 } }
    expect:
      calls:
        payments.createCustomer: []
"""
    result = bbops_test(project(tmp_path, cases, "function: mail\n"))
    assert result.exit_code == 1
    assert "'payments.createCustomer' was called, but no mock matches the call" in result.stdout
    assert "expected status 200, found 500: out of ink in functions/mail.yaml:" in result.stdout
    assert "calls of 'payments.createCustomer': expected 0 members, found 1:" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("3 failed, 1 passed")


def committed(folder: Path) -> Path:
    """Commit a project: what this version does not run is a warning in what was there before."""
    for command in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "Start")):
        git(folder, *command)
    return folder


def test_events_are_counted_where_they_happened(tmp_path: Path) -> None:
    function = (
        "steps:\n  - emit: { event: note.made, payload: { id: 1 } }\n"
        "  - transaction:\n      - emit: { event: note.lost, payload: {} }\n"
        "      - throw: { status: 409, message: no }\n"
    )
    cases = """
  - name: right
    expect: { status: 409, events: [note.made] }
  - name: wrong
    expect: { events: [] }
"""
    folder = committed(project(tmp_path, cases, "function: tell\n", functions__tell=function))
    result = bbops_test(folder)
    assert 'expected events [], found ["note.made"]' in result.stdout
    assert result.stdout.splitlines()[-1].startswith("1 failed, 1 passed")


TRIGGERS = {
    "tables__things": """
columns:
  id: { type: integer, primaryKey: true }
  body: { type: string, nullable: true }
  done: { type: boolean }
  made: { type: datetime }
""",
    "triggers__told": "event: thing.made\nfunction: tell\n",
    "triggers__changed": "database: { table: things, operation: update }\nfunction: changed\n",
    "functions__tell": """
payload: { id: integer, at: datetime, loud: { type: boolean, default: true } }
steps:
  - return:
      value:
        day: ${ event.payload.at | date('%A', 'UTC') }
        loud: ${ event.payload.loud }
""",
    "functions__changed": """
steps:
  - return:
      value:
        day: ${ trigger.newRow.made | date('%A', 'UTC') }
        was: ${ trigger.oldRow.done }
        body: ${ trigger.newRow.body }
""",
}


def test_an_event_is_typed_by_the_payload(tmp_path: Path) -> None:
    cases = """
  - name: right
    event: { name: thing.made, payload: { id: 1, at: 2026-01-02T03:04:05Z } }
    expect: { value: { day: Friday, loud: true } }
  - name: wrong
    event: { name: thing.made, payload: { id: one } }
    expect: {}
"""
    result = bbops_test(committed(project(tmp_path, cases, "function: tell\n", **TRIGGERS)))
    assert "the payload does not fit function 'tell': 'id' " in result.stdout
    assert result.stdout.splitlines()[-1].startswith("1 failed, 1 passed")


def test_rows_of_a_trigger_are_those_of_its_table(tmp_path: Path) -> None:
    row = "{ id: 1, done: false, made: 2026-01-02T03:04:05Z }"
    cases = f"""
  - name: right
    trigger: {{ newRow: {row}, oldRow: {row} }}
    expect: {{ value: {{ day: Friday, was: false, body: null }} }}
  - name: wrong
    trigger: {{ newRow: {row.replace("false", "9")}, oldRow: null }}
    expect: {{}}
"""
    result = bbops_test(committed(project(tmp_path, cases, "function: changed\n", **TRIGGERS)))
    assert "column 'done' needs true or false, got number" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("1 failed, 1 passed")


def test_a_function_behind_middleware_is_tested_by_its_endpoint(tmp_path: Path) -> None:
    files = {
        "channels__api": "name: Api\nauthentication: None\nbasePath: /api\nmiddleware: [load]\n",
        "functions__load": "steps:\n  - set: { team: 5 }\n",
        "functions__show": 'steps:\n  - return: { value: "${ vars.team + 1 }" }\n',
        "endpoints__show": "method: GET\npath: /show\nchannel: api\nfunction: show\n",
    }
    cases = "\n  - name: right\n    expect: { value: 6 }\n"
    result = bbops_test(project(tmp_path, cases, "endpoint: show\n", **files))
    assert result.exit_code == 0, result.output
    folder = project(tmp_path / "other", cases, "function: show\n", **files)
    told = CliRunner().invoke(RootGroup("bbops"), ["validate", str(folder)]).stdout
    assert "reads 'vars.team', which is set only by middleware [test-case]" in told


def test_requests_are_answered_by_mocks_only(tmp_path: Path) -> None:
    function = (
        "input: { q: string }\nsteps:\n  - http:\n      method: POST\n"
        "      url: https://api.example.com/find\n      query: { q: '${ input.q }' }\n"
        "      body: { a: 1 }\n      allowStatus: [404]\n    as: answer\n"
        "  - return: { value: { status: '${ vars.answer.status }', "
        "body: '${ vars.answer.body }' } }\n"
    )
    cases = """
  - name: by its address
    input: { q: x }
    mocks: { "https://api.example.com/find": { found: 1 } }
    expect:
      value: { status: 200, body: { found: 1 } }
      calls:
        https://api.example.com/find:
          - { method: POST, url: "https://api.example.com/find?q=x", body: { a: 1 } }
  - name: by the whole address
    input: { q: x }
    mocks:
      https://api.example.com/find: no
      https://api.example.com/find?q=x: { status: 404, body: nothing }
    expect: { value: { status: 404, body: nothing } }
  - name: by the step
    input: { q: x }
    mocks: { http: { status: 201, headers: { Content-Type: text/plain }, body: text } }
    expect: { value: { status: 201, body: text } }
  - name: as an error
    input: { q: x }
    mocks: { http: { error: { status: 503, message: later } } }
    expect: { status: 500 }
  - name: not at all
    input: { q: x }
    expect: { status: 500 }
"""
    folder = project(tmp_path, cases, "function: outside\n", functions__outside=function)
    result = bbops_test(folder)
    message = "'POST https://api.example.com/find' was called, but no mock matches the call"
    assert message in result.stdout
    assert result.stdout.splitlines()[-1].startswith("1 failed, 4 passed"), result.stdout


def test_a_step_of_the_database_cannot_be_mocked(tmp_path: Path) -> None:
    cases = RIGHT.replace("    expect:", "    mocks: { insert: { id: 1 } }\n    expect:")
    result = bbops_test(project(tmp_path, cases))
    assert "'insert' runs on the test's own database and cannot be mocked" in result.stdout


def test_a_row_that_does_not_fit_is_named(tmp_path: Path) -> None:
    head = "function: board\ndata:\n  notes:\n    - { id: 1, title: twice }\n"
    result = bbops_test(project(tmp_path, RIGHT, head))
    assert result.exit_code == 1
    assert "    tests/one.yaml:4: row 1 of 'notes': " in result.stdout


def test_endpoints_are_asked_through_everything(tmp_path: Path) -> None:
    endpoint = (
        "method: GET\npath: /greet/:name/n\nfunction: greet\nauthentication: JWT\n"
        "description: Greets.\n"
    )
    function = (
        "params: { name: string }\nquery: { times: 'integer', tags?: 'string[]' }\nsteps:\n"
        "  - return:\n      headers: { x-who: '${ vars.auth.userId }' }\n"
        "      value: { name: '${ params.name }', times: '${ query.times }', "
        "tags: '${ query.tags }', at: '${ now() }' }\n"
    )
    cases = """
  - name: typed and quoted
    auth: { userId: u1 }
    params: { name: a/b c }
    query: { times: 2, tags: [x, y z] }
    expect:
      status: 200
      value: { name: a/b c, times: 2, tags: [x, y z], at: "${ now() }" }
      check:
        - headers['x-who'] == 'u1'
  - name: refused
    params: { name: x }
    expect: { status: 401 }
  - name: wrong
    auth: { userId: u1 }
    params: { name: x }
    query: { times: many }
    expect: { status: 400 }
"""
    folder = project(
        tmp_path, cases, "endpoint: greet\n", functions__greet=function, endpoints__greet=endpoint
    )
    result = bbops_test(folder)
    assert result.exit_code == 0, result.output
