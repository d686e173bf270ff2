"""Tests of projects about work: triggers, tasks, what follows, crashes. On both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bbops.compiler.compile.release import build
from bbops.compiler.testing.outcome import Outcome
from bbops.compiler.testing.running import Runner, choose
from bbops.source.tree import MemoryTree
from tests.conftest import Files
from tests.support.postgres import DATABASES

LINES = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  text: { type: string, maxLength: 200 }
"""
PAID = "event: order.paid\nwhere: event.payload.total > 0\nfunction: fulfil\nonDead: sorry\n"
FULFIL = """
payload: { id: integer, total: number }
steps:
  - insert: { table: lines, data: { text: "paid ${ event.payload.id } ${ uuid() }" } }
  - http: { method: POST, url: "https://shop.example.com/send", body: { key: "${ uuid() }" } }
    as: sent
  - wait: { for: 3d }
  - transaction:
      - insert: { table: lines, data: { text: "sent ${ vars.sent.body.n } ${ now() }" } }
      - emit: { event: order.sent, payload: { id: "${ event.payload.id }" } }
  - enqueue: { function: ask, input: { id: "${ event.payload.id }" }, delay: 1h }
"""
SENT = "event: order.sent\nfunction: told\n"
TOLD = """
payload: { id: integer }
steps:
  - if: event.payload.id == 13
    then:
      - throw: { status: 500, message: not that one }
  - insert: { table: lines, data: { text: "told ${ event.payload.id }" } }
"""
ASK = """
input: { id: integer }
steps:
  - insert: { table: lines, data: { text: "ask ${ now() }" } }
"""
SORRY = """
payload: { error: string }
steps:
  - insert: { table: lines, data: { text: "sorry ${ event.payload.error }" } }
"""
NIGHTLY = "schedule: 0 3 * * *\ninput: { days: 7 }\nfunction: nightly\n"
REPORT = """
input: { days: integer }
steps:
  - insert: { table: lines, data: { text: "${ input.days } days before ${ now() }" } }
"""
CHANGED = "database: { table: lines, operation: insert, where: text == 'new' }\nfunction: changed\n"
NOTED = """
steps:
  - insert: { table: lines, data: { text: "saw ${ trigger.newRow.text }" } }
"""
ADD = "steps:\n  - insert: { table: lines, data: { text: new } }\n  - return: { status: 201 }\n"
FILES = {
    "project.yaml": "bbops: 1\nname: work\n", "tables/lines.yaml": LINES,
    "triggers/paid.yaml": PAID, "functions/fulfil.yaml": FULFIL, "triggers/sent.yaml": SENT,
    "functions/told.yaml": TOLD, "functions/ask.yaml": ASK, "functions/sorry.yaml": SORRY,
    "tasks/nightly.yaml": NIGHTLY, "functions/nightly.yaml": REPORT,
    "triggers/changed.yaml": CHANGED, "functions/changed.yaml": NOTED, "functions/add.yaml": ADD,
    "endpoints/add.yaml":
        "method: POST\npath: /add\nfunction: add\nauthentication: None\ndescription: Adds.\n",
}  # fmt: skip
MOCKS = 'mocks: { "https://shop.example.com/send": { n: 7 } }\n'

Try = Callable[[str], Outcome]


@pytest.fixture(params=DATABASES)
def case(request: pytest.FixtureRequest) -> Try:
    """Run the only case of a test."""

    def run(text: str, **more: str) -> Outcome:
        files: Files = {**FILES, "tests/one.yaml": text, **more}
        url = request.getfixturevalue("postgres") if request.param == "postgres" else ""
        built = build(MemoryTree(files), database="postgres" if url else "sqlite")
        assert built.project is not None, [str(one) for one in built.diagnostics]
        with Runner(built, url) as runner:
            (chosen,) = choose(built.project)
            return asyncio.run(runner.run(chosen))

    return run


def wrongs(outcome: Outcome) -> list[str]:
    return [one.message for one in outcome.wrong]


def test_a_trigger_runs_as_a_job_and_what_follows_is_named(case: Try) -> None:
    assert not wrongs(case(f"""
trigger: paid
{MOCKS}cases:
  - name: paid
    event: {{ payload: {{ id: 1, total: 5 }} }}
    expect:
      status: 204
      rows: {{ lines: 2 }}
      events: [order.sent]
      jobs: [{{ function: ask, input: {{ id: 1 }} }}]
      calls: {{ "https://shop.example.com/send": [{{ method: POST }}] }}
"""))  # fmt: skip


def test_a_trigger_whose_condition_is_false_runs_nothing(case: Try) -> None:
    assert not wrongs(case("""
trigger: paid
cases:
  - name: free
    event: { payload: { id: 1, total: 0 } }
    expect: { rows: { lines: 0 }, events: [], jobs: [], dead: [] }
"""))  # fmt: skip


def test_what_follows_runs_too_and_the_clock_jumps(case: Try) -> None:
    found = case(f"""
trigger: paid
{MOCKS}cases:
  - name: paid
    at: 2026-03-28T00:00:00Z
    event: {{ payload: {{ id: 1, total: 5 }} }}
    work: run
    expect: {{ rows: {{ lines: 4 }}, events: [order.sent], dead: [] }}
""")
    assert not wrongs(found)


def test_a_job_that_fails_for_good_fails_its_case_unless_it_is_expected(case: Try) -> None:
    text = f"""
trigger: paid
{MOCKS}cases:
  - name: paid
    event: {{ payload: {{ id: 13, total: 5 }} }}
    work: run
    expect: {{ rows: {{ lines: 3 }} EXPECT }}
"""
    (found,) = wrongs(case(text.replace("EXPECT", "")))
    assert found == "a job of 'triggers/sent' failed for the last time: not that one"
    assert not wrongs(case(text.replace("EXPECT", ", dead: [triggers/sent]")))
    (found,) = wrongs(case(text.replace("EXPECT", ", dead: []")))
    assert found == 'expected dead jobs [], found ["triggers/sent"]'


def test_a_task_runs_at_a_time_with_its_input(case: Try) -> None:
    found = case("""
task: nightly
cases:
  - name: in spring
    at: 2026-03-29T03:00:00+02:00
    expect: { rows: { lines: 1 }, events: [], jobs: [] }
""")
    assert not wrongs(found)


def test_changes_of_rows_run_what_waits_for_them(case: Try) -> None:
    text = """
endpoint: add
data: { lines: [{ id: 5, text: new }] }
cases:
  - name: added
    work: WORK
    expect: { status: 201, rows: { lines: COUNT } }
"""
    assert not wrongs(case(text.replace("WORK", "hold").replace("COUNT", "2")))
    assert not wrongs(case(text.replace("WORK", "run").replace("COUNT", "3")))


CRASH = f"""
trigger: paid
{MOCKS}cases:
  - name: paid
    event: {{ payload: {{ id: 1, total: 5 }} }}
    work: run
    crash: each
    expect: {{ rows: {{ lines: 4 }} }}
"""


@pytest.mark.long
def test_a_case_that_crashes_behind_each_commit_ends_with_the_same_rows(case: Try) -> None:
    assert not wrongs(case(CRASH))


def test_a_crash_that_changes_what_happens_is_told(case: Any) -> None:
    once = f"{PAID}retry: {{ attempts: 1 }}\n"
    (found,) = wrongs(case(CRASH, **{"triggers/paid.yaml": once}))
    assert found.startswith("a crash behind commit 2 changes what happens:")


START = """
steps:
  - enqueue: { function: ask, input: { id: 1 } }
"""
AGAIN = """
input: { id: integer }
steps:
  - loop:
      over: range(2000)
      steps:
        - wait: { for: 1h }
"""
ENDLESS = """
function: start
cases:
  - name: a
    work: run
    expect: {}
"""


@pytest.mark.long
def test_a_case_whose_work_does_not_end_is_told(case: Any) -> None:
    more = {"functions/start.yaml": START, "functions/ask.yaml": AGAIN}
    found = wrongs(case(ENDLESS, **more))
    assert found == ["there is always more work to do: something starts itself again"]


BOARD = {
    "realtime/board.yaml": (
        "topic: boards/:id\nauthentication: None\n"
        "events: { note.added: { id: integer, title: string }, note.seen: { by?: string } }\n"
    ),
    "functions/add.yaml": (
        "steps:\n  - insert: { table: lines, data: { text: new } }\n"
        "  - publish: { realtime: board, params: { id: 7 }, event: note.added,\n"
        "               payload: { id: 1, title: new } }\n  - return: { status: 201 }\n"
    ),
    "functions/changed.yaml": (
        "steps:\n  - publish: { realtime: board, params: { id: 8 }, event: note.seen,\n"
        '               payload: { by: "${ trigger.newRow.text }" } }\n'
    ),
}
ADDED = "{ realtime: board, event: note.added"
SEEN = "{ realtime: board, event: note.seen"


@pytest.mark.parametrize(
    ("published", "wrong"),
    [
        (f"[{ADDED} }}]", ""),
        (f"[{ADDED}, params: {{ id: 7 }}, payload: {{ title: new }} }}]", ""),
        (f"[{ADDED}, payload: {{ title: old }} }}]", "published[0].payload.title"),
        (f"[{ADDED}, params: {{ id: 8 }} }}]", "published[0].params.id"),
        (f"[{SEEN} }}]", "published[0].event"),
        ("[]", "published"), (f"[{ADDED} }}, {ADDED} }}]", "published"),
    ],
)  # fmt: skip
def test_published_messages_are_named_with_a_part_of_their_payload(
    case: Try, published: str, wrong: str
) -> None:
    text = (
        "endpoint: add\ncases:\n  - name: added\n"
        f"    expect: {{ status: 201, published: {published} }}\n"
    )
    found = wrongs(case(text, **BOARD))
    assert found == [] if not wrong else found[0].startswith(wrong), found


def test_messages_of_what_follows_are_named_too(case: Try) -> None:
    assert not wrongs(case(f"""
endpoint: add
cases:
  - name: added
    work: run
    expect:
      published: [{ADDED} }}, {SEEN}, payload: {{ by: new }} }}]
""", **BOARD))  # fmt: skip


# ---- events that happen meanwhile
HEARS = """
payload: { id: integer, total: number }
steps:
  - set: { id: "${ event.payload.id }" }
  - insert: { table: lines, data: { text: "waits ${ uuid() }" } }
  - wait: { event: order.sent, where: event.payload.id == vars.id, timeout: 2h }
    as: sent
  - http:
      method: POST
      url: https://shop.example.com/send
      body: { sent: "${ vars.sent != null }", at: "${ now() }" }
"""


SENT_8 = "{ event: order.sent, payload: { id: 8 }, after: 30m }"


@pytest.mark.parametrize(
    ("events", "body"),
    [
        ("[{ event: order.sent, payload: { id: 7 } }]", "sent: true, at: 2026-01-01T00:00:00Z"),
        (
            f"[{SENT_8}, {{ event: order.sent, payload: {{ id: 7 }}, after: 90m }}]",
            "sent: true, at: 2026-01-01T01:30:00Z",
        ),
        (
            "[{ event: order.sent, payload: { id: 7 }, after: 3h }]",
            "sent: false, at: 2026-01-01T02:00:00Z",
        ),
        ("[]", "sent: false, at: 2026-01-01T02:00:00Z"),
    ],
)
def test_a_wait_ends_with_its_event_or_with_its_time(case: Try, events: str, body: str) -> None:
    text = f"""
trigger: paid
{MOCKS}cases:
  - name: it waits
    at: 2026-01-01T00:00:00Z
    event: {{ payload: {{ id: 7, total: 1 }} }}
    work: run
    events: {events}
    expect:
      events: []
      calls: {{ "https://shop.example.com/send": [{{ body: {{ {body} }} }}] }}
"""
    assert wrongs(case(text, **{"functions/fulfil.yaml": HEARS})) == []


def test_an_event_runs_triggers_and_crashes_change_nothing(case: Try) -> None:
    text = f"""
trigger: paid
{MOCKS}cases:
  - name: it waits
    event: {{ payload: {{ id: 7, total: 1 }} }}
    work: run
    crash: each
    events: [{{ event: order.sent, payload: {{ id: 7 }}, after: 1h }}]
    expect: {{ rows: {{ lines: 2 }} }}
"""
    assert wrongs(case(text, **{"functions/fulfil.yaml": HEARS})) == []
