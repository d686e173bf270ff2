"""What a real server does outside of requests: through kills, publications and restarts."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from bbops.source.git import store
from tests.support.served import wait_for
from tests.support.shop import BEAT, FILES, FULFIL, SECRET, Shop, Work, children, write
from tests.support.small_project import endpoint


@pytest.mark.long
def test_an_event_of_a_transaction_runs_its_trigger_once_it_commits(shop: Shop) -> None:
    served = shop()
    assert served.order(1) == 201
    wait_for(lambda: served.count("done") == 1)
    assert served.order(2, fails=True) == 418
    assert served.order(3) == 201
    wait_for(lambda: served.count("done") == 2)
    rows = served.query("SELECT number, word FROM marks WHERE word <> 'asked' ORDER BY id")
    assert rows == [(1, "begun"), (1, "done"), (3, "begun"), (3, "done")]
    wait_for(lambda: served.states() == {})
    assert [name for (name,) in served.query("SELECT uid FROM _bbops_job_log ORDER BY id")]


@pytest.mark.long
def test_kills_of_the_process_that_works_and_of_the_server_lose_and_double_nothing(
    shop: Shop,
) -> None:
    served, orders = shop(), 120
    for number in range(orders):
        assert served.order(number) == 201
        if number % 30 == 20:
            os.kill(served.worker(), signal.SIGKILL)
    served.stop(signal.SIGKILL)
    served = shop()
    wait_for(lambda: served.count("done") == orders)
    wait_for(lambda: served.states() == {})
    doubled = "SELECT number, word FROM marks GROUP BY number, word HAVING count(*) > 1"
    assert served.query(doubled) == []
    assert served.count("begun") == served.count("asked") == orders


@pytest.mark.long
def test_a_task_ticks_until_a_publication_takes_it_away(shop: Shop) -> None:
    served = shop(tasks__beat="every: 1s\nfunction: beat\n", functions__beat=BEAT)
    wait_for(lambda: served.count("beat") >= 2)
    (served.repository / "tasks/beat.yaml").unlink()
    served.commit("No more beats")
    served.live()
    wait_for(lambda: served.query("SELECT task FROM _bbops_ticks") == [])
    beats = served.count("beat")
    served.order(1)
    wait_for(lambda: served.count("done") == 1)
    assert served.count("beat") <= beats + 1


@pytest.mark.long
def test_jobs_of_a_trigger_that_is_gone_are_held_with_the_reason(shop: Shop) -> None:
    served = shop()
    served.edit("functions/fulfil.yaml", "  - insert", "  - throw: { status: 500 }\n  - insert")
    served.edit("triggers/paid.yaml", "1ms", "1h")
    served.commit("It fails")
    served.live()
    served.order(1)
    wait_for(lambda: served.states() == {"later": 1})
    (served.repository / "triggers/paid.yaml").unlink()
    (served.repository / "functions/fulfil.yaml").unlink()
    served.commit("No trigger")
    served.live()
    served.edit_row("UPDATE _bbops_jobs SET run_at = 1")  # its time comes
    wait_for(lambda: served.states() == {"held": 1})
    ((error,),) = served.query("SELECT error FROM _bbops_jobs")
    assert error == "the project has no 'triggers/paid' any more"
    assert "job triggers/paid@1 is held: the project has no 'triggers/paid' any more" in (
        (served.home / "log").read_text()
    )


@pytest.mark.long
def test_people_see_jobs_by_file_and_line_and_decide_about_them(shop: Shop) -> None:
    served = shop(
        tasks__beat="every: 1h\nfunction: beat\n", functions__beat=BEAT,
        triggers__angry="event: order.paid\nfunction: angry\nretry: { attempts: 1 }\n",
        functions__angry="steps:\n"
        "  - insert: { table: marks, data: { number: 1, word: angry } }\n"
        "  - find: { table: marks, where: word == 'calm', one: required }\n",
    )  # fmt: skip
    run = served.bbops
    assert run("tasks", "list").stdout.endswith("  tasks/beat\n")
    started = run("tasks", "run", "beat", "--json").stdout
    wait_for(lambda: served.count("beat") == 1)
    name = json.loads(started)["job"]
    wait_for(lambda: "done" in run("jobs", "show", name).stdout)
    missing = run("tasks", "run", "nothing")
    assert (missing.returncode, "the project has no task 'nothing'" in missing.stderr) == (2, True)

    served.order(1)
    wait_for(lambda: served.states() == {"dead": 1})
    (job,) = json.loads(run("jobs", "list", "--state", "dead", "--json").stdout)["jobs"]
    assert job["work"] == "triggers/angry"
    shown = run("jobs", "show", job["name"]).stdout
    assert "functions/angry.yaml:2#1.1" in shown
    assert '{"number": 1}' in shown
    assert f"{job['name']} failed at functions/angry.yaml:3 for the last time" in (
        (served.home / "log").read_text()
    )
    served.edit_row("UPDATE marks SET word = 'calm' WHERE word = 'beat'")
    assert run("jobs", "retry", job["name"]).stdout == f"{job['name']} runs again\n"
    wait_for(lambda: served.states() == {})
    assert served.count("angry") == 1  # what it had done was not done again
    assert run("jobs", "retry", job["name"]).returncode == 1
    assert job["name"] in run("jobs", "list", "--state", "ended").stdout


@pytest.mark.long
def test_jobs_that_are_held_wait_until_they_are_released(shop: Shop) -> None:
    served = shop()
    served.edit("triggers/paid.yaml", "retry: { backoff: 1ms }", "retry: { backoff: 1h }")
    served.edit("functions/fulfil.yaml", "  - insert", "  - throw: { status: 500 }\n  - insert")
    served.commit("It fails")
    served.live()
    served.order(1)
    wait_for(lambda: served.states() == {"later": 1})
    assert served.bbops("jobs", "hold").stdout == "held 1 job\n"
    assert served.states() == {"held": 1}
    assert served.bbops("jobs", "release", "--restored").stdout == "released 0 jobs\n"
    assert served.bbops("jobs", "release").stdout == "released 1 job\n"
    wait_for(lambda: served.states() == {"later": 1})
    (name,) = (one for (one,) in served.query("SELECT uid FROM _bbops_jobs"))
    assert served.bbops("jobs", "cancel", name).stdout == f"cancelled {name}\n"
    assert served.states() == {}


@pytest.mark.long
def test_after_a_restore_nothing_that_was_due_runs_before_it_is_released(tmp_path: Path) -> None:
    files = FILES | {
        "triggers/paid.yaml": b"event: order.paid\nfunction: fulfil\nretry: { backoff: 1s }\n",
        "functions/fulfil.yaml": FULFIL.replace(
            "  - insert", "  - throw: { status: 500 }\n  - insert", 1
        ).encode(),
        "tasks/beat.yaml": b"every: 1h\nfunction: beat\nmissed: all\n",
        "functions/beat.yaml": BEAT.encode(),
    }
    store.init(tmp_path / "shop", files, message="Start")
    backup = str(tmp_path / "backup.sqlite")
    with Work(tmp_path / "shop", tmp_path / "home") as served:
        served.live()
        served.order(1)
        wait_for(lambda: served.states() == {"later": 1})
        state = ["--state", str(served.repository / ".bbops/state")]
        assert served.bbops("db", "backup", backup, *state).returncode == 0
    with closing(sqlite3.connect(backup)) as database, database:  # time goes by
        database.execute("UPDATE _bbops_ticks SET next_at = 1000")
        database.execute("UPDATE _bbops_jobs SET run_at = 1000")
    done = served.bbops("db", "restore", backup, *state)
    assert "1 job is held: 'bbops jobs release --restored' lets them run" in done.stdout, done
    with Work(tmp_path / "shop", tmp_path / "home") as served:
        served.live()
        wait_for(lambda: len(served.query("SELECT 1 FROM _bbops_ticks")) == 1)
        assert served.states() == {"held": 1}
        assert served.count("beat") == 0
        assert served.bbops("jobs", "release", "--restored").stdout == "released 1 job\n"
        wait_for(lambda: served.states() != {"held": 1})


@pytest.mark.long
def test_a_publication_that_narrows_tables_waits_for_jobs_and_they_go_on(shop: Shop) -> None:
    served = shop(tasks__beat="every: 1s\nfunction: beat\n", functions__beat=BEAT)
    wait_for(lambda: served.count("beat") >= 1)
    served.edit("tables/marks.yaml", "maxLength: 40", "maxLength: 30")
    served.commit("Shorter words")
    served.live()
    before = served.count("beat")
    wait_for(lambda: served.count("beat") > before)
    assert served.order(5) == 201
    wait_for(lambda: served.count("done") == 1)


@pytest.mark.long
def test_a_server_that_takes_over_goes_on_with_the_work(tmp_path: Path) -> None:
    files = FILES | {
        "tasks/beat.yaml": b"every: 1s\nfunction: beat\n", "functions/beat.yaml": BEAT.encode(),
    }  # fmt: skip
    store.init(tmp_path / "shop", files, message="Start")
    home = tmp_path / "home"
    with Work(tmp_path / "shop", home) as old:
        old.live()
        for number in range(20):
            assert old.order(number) == 201
        with Work(tmp_path / "shop", home, "--replace") as new:
            assert old.process.wait(30) == 0
            for number in range(20, 40):
                assert new.order(number) == 201
            wait_for(lambda: new.count("done") == 40)
            beats = new.count("beat")
            wait_for(lambda: new.count("beat") > beats)
            doubled = "SELECT number, word FROM marks WHERE number > 0 GROUP BY 1, 2"
            assert new.query(f"{doubled} HAVING count(*) > 1") == []
            assert len(children(new.process.pid)) == 1


@pytest.mark.long
def test_a_project_without_work_has_no_process_for_it(tmp_path: Path) -> None:
    files = {
        "project.yaml": b"bbops: 1\nname: shop\n",
        "endpoints/beat.yaml": endpoint("GET", "/beat", "beat").encode(),
        "functions/beat.yaml": b"steps:\n  - return: { value: 1 }\n",
    }
    store.init(tmp_path / "shop", files, message="Start")
    with Work(tmp_path / "shop", tmp_path / "home") as served:
        served.live()
        assert served.api.get("/beat").json() == 1
        assert children(served.process.pid) == []


HOOK_PROJECT = "bbops: 1\nname: shop\nenv: { HOOK_SECRET: { secret: true } }\n"
HOOK = """
webhook:
  path: /hooks/pay
  signature: { scheme: standard, secret: "${ env.HOOK_SECRET }" }
function: paid
"""
PAID = """
payload: { number: integer }
steps:
  - insert:
      table: marks
      data: { number: "${ event.payload.number }", word: "${ event.name }" }
"""
TICKETS = """
columns:
  id: { type: integer, primaryKey: true, auto: increment }
  title: { type: string, maxLength: 40 }
  price: { type: decimal, nullable: true }
  code: { type: string, maxLength: 40, private: true, default: hidden-code }
"""
ON_TICKET = """
database:
  table: tickets
  operation: [insert, update]
  where: newRow.title != 'quiet' and (oldRow == null or oldRow.price != price)
function: copy
"""
SELL = """
input: { title: string }
steps:
  - insert: { table: tickets, data: { title: "${ input.title }", price: "1.50" } }
"""
COPY = """
steps:
  - insert:
      table: marks
      data:
        number: ${ trigger.newRow.id }
        word: ${ trigger.newRow.title } ${ trigger.newRow.price | default('none') }
"""
AGAIN = """
steps:
  - update:
      table: tickets
      where: id == trigger.newRow.id
      data: { title: "${ trigger.newRow.title }x" }
"""


@pytest.mark.long
def test_changed_rows_run_a_trigger_whoever_changes_them(shop: Shop) -> None:
    served = shop(
        tables__tickets=TICKETS, triggers__ticket=ON_TICKET, functions__copy=COPY,
        functions__sell=SELL,
        endpoints__sell=endpoint("POST", "/tickets", "sell"),
    )  # fmt: skip
    for title in ("a", "quiet", "b"):
        assert served.api.post("/tickets", json={"title": title}).status_code == 200
    wait_for(lambda: served.count("b 1.50") == 1)
    served.edit_row("UPDATE tickets SET price = '2.25' WHERE title <> 'b'")  # another program
    wait_for(lambda: served.count("a 2.25") == 1)
    served.edit_row("UPDATE tickets SET title = 'c', price = price WHERE title = 'b'")
    served.edit_row("UPDATE tickets SET title = 'd', price = '9' WHERE title = 'c'")
    wait_for(lambda: served.count("d 9") == 1)
    wait_for(lambda: served.states() == {})
    words = [word for (word,) in served.query("SELECT word FROM marks ORDER BY id")]
    assert words == ["a 1.50", "b 1.50", "a 2.25", "d 9"]
    kept = served.query(
        "SELECT payload FROM _bbops_job_log UNION SELECT payload FROM _bbops_events"
    )
    assert {payload for (payload,) in kept} == {"{}"}


@pytest.mark.long
def test_a_trigger_that_changes_its_own_table_is_held_after_sixteen_times(shop: Shop) -> None:
    trigger = "database: { table: tickets, operation: [insert, update] }\nfunction: again\n"
    served = shop(tables__tickets=TICKETS, triggers__again=trigger, functions__again=AGAIN)
    served.edit_row("INSERT INTO tickets (title) VALUES ('a')")
    wait_for(lambda: served.states() == {"held": 1})
    ((error, depth),) = served.query("SELECT error, depth FROM _bbops_jobs")
    assert (error, depth) == ("16 jobs in a row have caused one another [tooDeep]", 17)
    ((title,),) = served.query("SELECT title FROM tickets")
    assert title == "a" + 17 * "x"


@pytest.mark.long
def test_a_publication_says_what_rows_are_told_and_changes_none_of_them(shop: Shop) -> None:
    served = shop(tables__tickets=TICKETS)
    served.edit_row("INSERT INTO tickets (title) VALUES ('before')")
    write(served, {"triggers/ticket.yaml": ON_TICKET, "functions/copy.yaml": COPY})
    served.live()
    served.edit_row("INSERT INTO tickets (title, price) VALUES ('a', '1')")
    wait_for(lambda: served.count("a 1") == 1)
    grown = TICKETS + "  more: { type: integer, default: 3 }\n"
    seed = "seed:\n  - { id: 90, title: seeded }\n"
    write(served, {"tables/tickets.yaml": grown + seed})
    served.live()
    served.edit_row("UPDATE tickets SET price = '5' WHERE title = 'before'")
    wait_for(lambda: served.count("before 5") == 1)
    assert served.query("SELECT count(*) FROM marks") == [(2,)]
    write(served, {"triggers/ticket.yaml": None, "functions/copy.yaml": None})
    served.live()
    wait_for(lambda: served.query("SELECT text FROM _bbops_notes WHERE name = 'row_events'")
             in ([], [("",)]))  # fmt: skip
    served.edit_row("UPDATE tickets SET price = '6'")
    assert served.query("SELECT count(*) FROM _bbops_outbox") == [(0,)]


def deliver(served: Work, name: str, body: str, **wrong: str) -> tuple[int, str]:
    """Post a body that is signed; returns the status, and the code of an error."""
    at = datetime.now(UTC) - timedelta(seconds=int(wrong.pop("age", "0")))
    headers = {
        "webhook-id": name, "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(SECRET).sign(name, at, body),
        "content-type": "application/json",
    } | wrong  # fmt: skip
    reply = served.api.post("/hooks/pay", content=body, headers=headers)
    return reply.status_code, reply.json()["error"]["code"] if reply.content else ""


@pytest.mark.long
def test_a_delivery_is_shown_without_its_signature_and_runs_again(shop: Shop) -> None:
    served = shop(project=HOOK_PROJECT, triggers__pay=HOOK, functions__paid=PAID)
    run = served.bbops
    assert deliver(served, "a", '{"number": 7, "token": "hidden-one"}') == (202, "")
    wait_for(lambda: served.count("pay") == 1)
    assert "  received   triggers/pay@a\n" in run("deliveries", "list").stdout
    assert run("deliveries", "list", "--sent").stdout == "no deliveries\n"
    shown = run("deliveries", "show", "triggers/pay@a").stdout
    assert "webhook-signature: ***\n" in shown
    assert "webhook-id: a\n" in shown
    assert 'body  {"number": 7, "token": "***"}\n' in shown
    again = run("deliveries", "replay", "triggers/pay@a", "--json")
    job = json.loads(again.stdout)["job"]
    wait_for(lambda: "done" in run("jobs", "show", job).stdout)
    assert served.count("pay") == 2
    assert "there is no delivery 'triggers/pay@b'" in run(
        "deliveries", "replay", "triggers/pay@b").stderr  # fmt: skip


@pytest.mark.long
def test_a_trigger_runs_again_for_the_events_of_the_log(shop: Shop) -> None:
    served = shop()
    run = served.bbops
    emitted = run("events", "emit", "order.paid", '{"number": 1}')
    assert emitted.stdout == "emitted order.paid; triggers/paid waits for it\n", emitted
    assert "only bbops emits 'bbops.job-dead'" in run("events", "emit", "bbops.job-dead").stderr
    served.order(2)
    wait_for(lambda: served.count("done") == 2)
    assert run("events", "list", "order.paid").stdout.count('order.paid  {"number": ') == 2
    since = ["events", "replay", "--to", "paid", "--since", "1h"]
    refused = run(*since, stdin="n\n")
    assert refused.returncode == 1
    assert "run paid again for 2 events?" in refused.stderr
    assert run(*since, "--yes").stdout == (
        "2 events of paid run again; 'bbops jobs list' shows them\n"
    )
    wait_for(lambda: served.count("done") == 4)
    missing = run("events", "replay", "--to", "pay", "--since", "1h", "--yes")
    assert "the project has no live trigger 'triggers/pay'" in missing.stderr
    assert "did you mean 'triggers/paid'?" in missing.stderr


@pytest.mark.long
def test_a_thousand_duplicates_run_once_whichever_process_takes_them(shop: Shop) -> None:
    served = shop(project=HOOK_PROJECT, triggers__pay=HOOK, functions__paid=PAID)
    with ThreadPoolExecutor(8) as several:
        answers = set(several.map(lambda _: deliver(served, "a", '{"number": 1}'), range(1_000)))
    assert answers == {(202, "")}
    wait_for(lambda: served.count("pay") == 1)
    wait_for(lambda: served.states() == {})
    assert served.count("pay") == 1
    assert served.query("SELECT count(*) FROM _bbops_job_log") == [(1,)]


@pytest.mark.long
def test_a_webhook_runs_once_however_often_it_comes_and_only_signed(shop: Shop) -> None:
    served = shop(project=HOOK_PROJECT, triggers__pay=HOOK, functions__paid=PAID)
    assert deliver(served, "a", '{"number": 1}') == (202, "")
    wait_for(lambda: served.count("pay") == 1)
    served.stop()
    served = shop()
    for _ in range(50):
        assert deliver(served, "a", '{"number": 1}') == (202, "")
    assert deliver(served, "b", '{"number": 2}') == (202, "")
    assert deliver(served, "c", '{"number": 3}', age="301") == (401, "signatureLate")
    assert deliver(served, "c", "{}", **{"webhook-id": "d"}) == (401, "signatureInvalid")
    assert deliver(served, "c", '{"number": ')[0] == 400
    assert deliver(served, "d", '{"number": "' + "x" * 1_000_000 + '"}')[0] == 413
    assert served.api.get("/hooks/pay").status_code == 405
    wait_for(lambda: served.count("pay") == 2)
    wait_for(lambda: served.states() == {})
    assert served.query("SELECT name FROM _bbops_received ORDER BY name") == [("a",), ("b",)]
    assert deliver(served, "e", '{"number": "many"}') == (202, "")
    wait_for(lambda: served.states() == {"later": 1})
    ((error,),) = served.query("SELECT error FROM _bbops_jobs")
    assert error == "the payload does not fit function 'paid': 'number' must be a whole number"


IN_TURN = (
    "event: order.paid\nfunction: fulfil\nlane: { key: event.name }\nretry: { backoff: 500ms }\n"
)
WAIT = """
payload: { number: integer }
steps:
  - find: { table: marks, where: word == 'open' }
    as: open
  - if: event.payload.number == 1 and (vars.open | length) == 0
    then:
      - throw: { status: 500 }
  - insert: { table: marks, data: { number: "${ event.payload.number }", word: ran } }
"""


@pytest.mark.long
def test_jobs_of_one_lane_keep_their_order_while_one_waits(shop: Shop) -> None:
    served = shop(triggers__paid=IN_TURN, functions__fulfil=WAIT)
    for number in (1, 2, 3):
        assert served.order(number) == 201
    wait_for(lambda: served.states() == {"blocked": 2, "later": 1})
    served.edit_row("INSERT INTO marks (number, word) VALUES (0, 'open')")
    wait_for(lambda: served.states() == {})
    rows = served.query("SELECT number FROM marks WHERE word = 'ran' ORDER BY id")
    assert rows == [(1,), (2,), (3,)]


ASK = """
input: { number: integer, key?: string }
steps:
  - transaction:
      - enqueue:
          function: mark
          input: { number: "${ input.number }" }
          unique: "${ input.key }"
        as: job
      - if: input.number == 13
        then:
          - throw: { status: 418 }
  - return: { status: 202, value: "${ vars.job }" }
"""
MARK = """
input: { number: integer }
job: { retry: { attempts: 3, backoff: 500ms, factor: 1 } }
steps:
  - insert: { table: marks, data: { number: "${ input.number }", word: marked } }
  - find: { table: marks, where: word == 'open' }
    as: open
  - if: (vars.open | length) == 0
    then:
      - throw: { status: 500, message: not open yet }
  - return: { value: { number: "${ input.number }" } }
"""
DEAD = """
event: bbops.job-dead
where: event.payload.work == 'functions/mark'
function: alert
"""
ALERT = """
payload: { work: string, error: string, attempts: integer }
steps:
  - insert:
      table: marks
      data: { number: "${ event.payload.attempts }", word: "${ event.payload.error }" }
"""
STATUS = """
query: { job: string }
steps:
  - jobStatus: { job: "${ query.job }" }
    as: job
  - return: { value: "${ vars.job }" }
"""
CANCEL = """
query: { job: string }
steps:
  - cancel: { job: "${ query.job }" }
    as: done
  - return: { value: "${ vars.done }" }
"""


@pytest.mark.long
def test_what_a_request_enqueues_runs_once_and_can_be_asked_about(shop: Shop) -> None:
    served = shop(
        functions__ask=ASK, functions__mark=MARK, functions__status=STATUS,
        functions__cancel=CANCEL, functions__alert=ALERT, triggers__dead=DEAD,
        endpoints__ask=endpoint("POST", "/ask", "ask"),
        endpoints__status=endpoint("GET", "/status", "status"),
        endpoints__cancel=endpoint("DELETE", "/status", "cancel"),
    )  # fmt: skip

    def status(uid: str) -> Any:
        return served.api.get("/status", params={"job": uid}).json()

    assert served.api.post("/ask", json={"number": 13}).status_code == 418
    made = [served.api.post("/ask", json={"number": n, "key": "a"}).json() for n in (1, 2)]
    assert [one["isNew"] for one in made] == [True, False]
    uid = made[0]["id"]
    wait_for(lambda: status(uid)["state"] == "dead")
    assert status(uid) == {"state": "dead", "attempts": 3, "result": None, "error": "not open yet"}
    wait_for(lambda: served.count("not open yet") == 1)
    served.edit_row("INSERT INTO marks (number, word) VALUES (0, 'open')")
    again = served.api.post("/ask", json={"number": 2, "key": "a"}).json()
    assert again["isNew"]
    wait_for(lambda: status(again["id"])["state"] == "done")
    assert status(again["id"])["result"] == {"number": 2}
    assert served.query("SELECT number FROM marks WHERE word = 'marked' ORDER BY id") == [
        (1,), (2,),
    ]  # fmt: skip
    assert served.api.delete("/status", params={"job": uid}).json() is True
    assert served.api.delete("/status", params={"job": uid}).json() is False
    assert status(uid)["state"] == "cancelled"
    assert status("triggers/paid@1") is None


SHIPS = """
payload: { number: integer }
steps:
  - emit: { event: order.shipped }
"""


@pytest.mark.long
def test_a_job_leads_back_to_the_request_that_caused_it_by_file_and_line(shop: Shop) -> None:
    served = shop(
        functions__fulfil=SHIPS, triggers__shipped="event: order.shipped\nfunction: beat\n",
        functions__beat=BEAT,
    )  # fmt: skip
    request = served.api.post("/orders", json={"number": 1}).headers["x-request-id"]
    wait_for(lambda: served.count("beat") == 1)
    names = dict(served.query("SELECT work, uid FROM _bbops_job_log"))
    shown = served.bbops("jobs", "show", names["triggers/shipped"]).stdout
    causes = [line.split(maxsplit=1)[1] for line in shown.splitlines() if line[:5] == "cause"]
    assert causes == [
        f"{names['triggers/paid']} at functions/fulfil.yaml:4",
        f"request {request} at functions/order.yaml:7",
    ]
