"""Triggers on changed rows of a real server, whoever changes them."""

from __future__ import annotations

import pytest

from tests.support.patience import wait_for
from tests.support.shop import Shop, write
from tests.support.small_project import endpoint

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
    wait_for(lambda: served.count("a 1.50") + served.count("b 1.50") == 2)
    served.edit_row("UPDATE tickets SET price = '2.25' WHERE title <> 'b'")  # another program
    wait_for(lambda: served.count("a 2.25") == 1)
    served.edit_row("UPDATE tickets SET title = 'c', price = price WHERE title = 'b'")
    served.edit_row("UPDATE tickets SET title = 'd', price = '9' WHERE title = 'c'")
    wait_for(lambda: served.count("d 9") == 1)
    wait_for(lambda: served.states() == {})
    words = [word for (word,) in served.query("SELECT word FROM marks ORDER BY id")]
    assert sorted(words[:2]) == ["a 1.50", "b 1.50"]  # jobs without a key run side by side
    assert words[2:] == ["a 2.25", "d 9"]
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
