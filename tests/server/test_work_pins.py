"""Jobs that have begun go on with the code they began with, whatever is published meanwhile."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Final

import pytest

from bbops_server.data_plane.work.pins import Pins
from tests.support.patience import wait_for
from tests.support.shop import Shop, Work, write

GATES: Final = "columns:\n  id: { type: integer, primaryKey: true }\n"
PAID: Final = (
    "event: order.paid\nfunction: fulfil\nretry: { attempts: 100, backoff: 3s, factor: 1 }\n"
)
GATED: Final = """
payload: { number: integer }
steps:
  - insert: { table: marks, data: { number: "${ event.payload.number }", word: begun VERSION } }
  - find: { table: gates, where: id == 1, one: required }
  - insert: { table: marks, data: { number: "${ event.payload.number }", word: done VERSION } }
"""
OTHER: Final = "steps:\n  - return: {{ value: {} }}\n"


def gated(version: object) -> str:
    """Return a function that waits until somebody opens the gate."""
    return GATED.replace("VERSION", str(version))


def start(shop: Shop, **more: str) -> Work:
    return shop(tables__gates=GATES, triggers__paid=PAID, functions__fulfil=gated(1), **more)


def order(served: Work, *numbers: int) -> None:
    """Order, and wait until the jobs have begun."""
    for number in numbers:
        assert served.order(number) == 201
    wait_for(lambda: served.count_like("begun") == max(numbers))


def open_gate(served: Work) -> None:
    served.edit_row("INSERT INTO gates VALUES (1)")


def versions(served: Work, word: str) -> list[str]:
    """Return which version of the function wrote this of each order."""
    rows = served.query(f"SELECT word FROM marks WHERE word LIKE '{word} %' ORDER BY number")
    return [text.removeprefix(f"{word} ") for (text,) in rows]


def pins(served: Work) -> list[Path]:
    return [*(served.repository / ".bbops/state/pins").iterdir()]


def test_code_is_kept_while_a_job_needs_it(tmp_path: Path) -> None:
    old, new = tmp_path / ("a" * 64), tmp_path / ("b" * 64)
    kept = Pins(tmp_path / "pins")
    for artifact, codes in ((old, {"one": "1", "two": "2"}), (new, {"one": "1", "two": "3"})):
        artifact.write_text(artifact.name)
        kept.keep(artifact, codes.items())
        artifact.unlink()
    found = {code: kept.find(code) for code in (("one", "1"), ("two", "2"), ("two", "3"))}
    assert [path.read_text()[:1] for path in found.values() if path] == ["a", "a", "b"]
    assert kept.find(("two", "1")) is None

    tomorrow = (tmp_path / "pins").stat().st_ctime + 86_400
    kept.sweep([("two", "2")], before=0)  # all of it may be of a release that is about to go live
    assert all(kept.find(code) for code in found)
    kept.sweep([("two", "2")], before=tomorrow)
    assert [code for code in found if kept.find(code)] == [("two", "2")]


@pytest.mark.long
def test_a_server_without_the_code_of_then_holds_the_job(shop: Shop) -> None:
    served = start(shop)
    order(served, 1)
    served.stop()
    for path in (served.repository / ".bbops/state").iterdir():  # as on a new machine
        if path.is_dir():
            shutil.rmtree(path)
        elif not path.name.startswith("data.sqlite"):
            path.unlink()
    write(served, {"functions/fulfil.yaml": gated(2)})
    served = shop()
    wait_for(lambda: served.states() == {"held": 1})
    ((error,),) = served.query("SELECT error FROM _bbops_jobs")
    assert error.endswith("and this server no longer has its old code")


@pytest.mark.long
def test_a_job_goes_on_with_its_code_and_one_that_begins_later_runs_the_new_one(
    shop: Shop,
) -> None:
    served = start(shop)
    order(served, 1)
    write(served, {"functions/fulfil.yaml": gated(2)})
    served.live()
    order(served, 2)
    open_gate(served)
    wait_for(lambda: served.states() == {})
    assert versions(served, "begun") == versions(served, "done") == ["1", "2"]


@pytest.mark.long
def test_old_code_survives_the_server_and_the_trigger_that_it_was_of(shop: Shop) -> None:
    served = start(shop)
    order(served, 1)
    write(served, {"triggers/paid.yaml": None, "functions/fulfil.yaml": None})
    served.live()
    served.stop(signal.SIGKILL)
    served = shop()
    assert served.states() == {"later": 1}
    open_gate(served)
    wait_for(lambda: served.states() == {})
    assert versions(served, "done") == ["1"]


@pytest.mark.long
def test_a_column_that_its_code_reads_holds_a_job_when_it_is_dropped(shop: Shop) -> None:
    served = start(shop)
    order(served, 1)
    table = (served.repository / "tables/marks.yaml").read_text()
    renamed = table.replace("word:", "text:").replace(
        "maxLength: 40", "maxLength: 40, renamedFrom: word"
    )
    changed = {
        path: (served.repository / path).read_text().replace("word:", "text:")
        for path in ("functions/order.yaml", "functions/fulfil.yaml")
    }
    write(served, {"tables/marks.yaml": renamed, **changed})
    served.live()
    wait_for(lambda: served.states() == {"held": 1})
    ((error,),) = served.query("SELECT error FROM _bbops_jobs")
    assert error.startswith("the tables have changed since it began: "), error
    open_gate(served)
    (name,) = (one for (one,) in served.query("SELECT uid FROM _bbops_jobs"))
    assert served.bbops("jobs", "retry", name, "--from-start").returncode == 0
    wait_for(lambda: served.states() == {})
    texts = served.query("SELECT text FROM marks WHERE text LIKE 'done%'")
    assert texts == [("done 1",)]


@pytest.mark.long
def test_fifty_publications_leave_each_of_five_hundred_jobs_its_code(shop: Shop) -> None:
    served = start(shop)
    for publication in range(50):
        numbers = range(10 * publication + 1, 10 * publication + 11)
        order(served, *numbers)
        if publication % 2:
            write(served, {"functions/fulfil.yaml": gated(publication + 1)})
        else:
            write(
                served,
                {"functions/other.yaml": f"steps:\n  - return: {{ value: {publication} }}\n"},
            )
        served.live()
    open_gate(served)
    wait_for(lambda: served.states() == {})
    assert len(versions(served, "begun")) == 500
    assert versions(served, "begun") == versions(served, "done")
    assert len({*versions(served, "done")}) == 25  # the last version was published behind all jobs
