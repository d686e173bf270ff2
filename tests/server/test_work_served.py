"""What a real server does outside of requests: through kills, publications and restarts."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bbops.source.git import store
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.shop import BEAT, FILES, FULFIL, Shop, Work, workers
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
    patient = "event: order.paid\nfunction: fulfil\nretry: { attempts: 50, backoff: 1ms }\n"
    served, orders = shop(triggers__paid=patient), 120  # each kill is an attempt of what runs
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
    (coming,) = json.loads(run("tasks", "next", "--count", "2", "--json").stdout)
    first, second = (one["at"] for one in coming["ticks"])
    assert served.query("SELECT next_at FROM _bbops_ticks") == [(round(1000 * first),)]
    assert (coming["task"], second - first) == ("tasks/beat", 3600)
    assert run("tasks", "next", "beat", "--count", "1").stdout.startswith(
        "tasks/beat  every 1:00:00\n    "
    )
    unknown = run("tasks", "next", "beet")
    assert (unknown.returncode, "the project has no task 'beet'" in unknown.stderr) == (2, True)
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
def test_why_a_job_failed_is_shown_without_secrets(shop: Shop) -> None:
    key = "sk_live_" + "a1B2" * 6
    served = shop(
        triggers__angry="event: order.paid\nfunction: angry\nretry: { attempts: 1 }\n",
        functions__angry=f"steps:\n  - throw: {{ status: 400, message: bad key {key} }}\n",
    )
    served.order(1)
    wait_for(lambda: served.states() == {"dead": 1})
    listed = served.bbops("jobs", "list", "--json").stdout
    (job,) = json.loads(listed)["jobs"]
    assert "bad key ***" in job["error"]
    assert key not in listed + served.bbops("jobs", "show", job["name"]).stdout
    log = (served.home / "log").read_text()
    assert "bad key ***" in log
    assert key not in log


@pytest.mark.long
def test_jobs_that_are_held_wait_until_they_are_released(shop: Shop) -> None:
    served = shop()
    served.edit("triggers/paid.yaml", "retry: { backoff: 1ms }", "retry: { backoff: 1h }")
    served.edit("functions/fulfil.yaml", "  - insert", "  - throw: { status: 500 }\n  - insert")
    served.commit("It fails")
    served.live()
    served.order(1)
    wait_for(lambda: served.states() == {"later": 1})
    asked = served.bbops("jobs", "hold")
    assert (asked.returncode, asked.stdout) == (2, "")
    assert "hold 1 waiting job of the project at http://" in asked.stderr
    assert "the input is empty\n    hint: add --yes" in asked.stderr
    assert served.bbops("jobs", "hold", "--yes").stdout == "held 1 job\n"
    assert served.states() == {"held": 1}
    assert served.bbops("jobs", "release", "--restored", "--yes").stdout == "released 0 jobs\n"
    assert "release 1 held job of the project" in served.bbops("jobs", "release").stderr
    assert served.bbops("jobs", "release", "--yes").stdout == "released 1 job\n"
    wait_for(lambda: served.states() == {"later": 1})
    (name,) = (one for (one,) in served.query("SELECT uid FROM _bbops_jobs"))
    assert (
        served.bbops("jobs", "run", name).stdout
        == f"{name} runs now, or as soon as its lane is free\n"
    )
    wait_for(lambda: served.query("SELECT state, attempts FROM _bbops_jobs") == [("later", 2)])
    for action in ("run", "retry", "cancel", "release"):
        unknown = served.bbops("jobs", action, "triggers/paid@999")
        assert (unknown.returncode, unknown.stdout) == (2, "")
        assert "there is no job 'triggers/paid@999'; 'bbops jobs list' shows" in unknown.stderr
    assert served.bbops("jobs", "release", name).stdout == "nothing to release: the job is later\n"
    assert served.bbops("jobs", "cancel", name).stdout == f"cancelled {name}\n"
    again = served.bbops("jobs", "cancel", name)
    assert (again.returncode, again.stdout) == (1, "nothing to cancel: the job is cancelled\n")
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
        assert served.bbops("jobs", "release", "--restored", "--yes").stdout == "released 1 job\n"
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
            assert old.process.wait(PATIENCE_SECONDS) == 0
            for number in range(20, 40):
                assert new.order(number) == 201
            wait_for(lambda: new.count("done") == 40)
            beats = new.count("beat")
            wait_for(lambda: new.count("beat") > beats)
            doubled = "SELECT number, word FROM marks WHERE number > 0 GROUP BY 1, 2"
            assert new.query(f"{doubled} HAVING count(*) > 1") == []
            assert len(workers(new.process.pid)) == 1


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
        assert workers(served.process.pid) == []
