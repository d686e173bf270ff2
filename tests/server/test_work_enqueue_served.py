"""Lanes, enqueued jobs and the story of a job, on a real server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.patience import wait_for
from tests.support.shop import BEAT, Shop
from tests.support.small_project import endpoint

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
TWICE = """
steps:
  - transaction:
      - enqueue: { function: mark, input: { number: 1 }, unique: a }
        as: first
      - enqueue: { function: mark, input: { number: 2 }, unique: a }
        as: second
  - return: { status: 202, value: ["${ vars.first }", "${ vars.second }"] }
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
        functions__twice=TWICE, endpoints__twice=endpoint("POST", "/twice", "twice"),
        endpoints__status=endpoint("GET", "/status", "status"),
        endpoints__cancel=endpoint("DELETE", "/status", "cancel"),
    )  # fmt: skip

    def status(uid: str) -> Any:
        return served.api.get("/status", params={"job": uid}).json()

    assert served.api.post("/ask", json={"number": 13}).status_code == 418
    made = served.api.post("/twice").json()  # at once: neither job begins in between
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
