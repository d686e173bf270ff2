"""Tasks, triggers, topics, agents, addons and tests: read, checked, and kept out of the way."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from bbops.compiler.check import validate
from bbops.compiler.compile.release import Cache, build
from bbops.compiler.testing.host import fake_host
from bbops.database.migrate.migrate import apply
from bbops.language.resources._job import check_cron
from bbops.runtime.linking.release import link
from bbops.source.tree import FolderTree, MemoryTree
from tests.conftest import FRAGMENTS, NOTES, ROOT, Files, Serving, run, sample
from tests.support.sign_in import apple_key
from tests.support.unsupported import CODE

pytestmark = pytest.mark.quick

RIGHT = sorted(path for path in (ROOT / "tests/golden/check").glob("ok-*/project"))


@pytest.mark.parametrize("folder", RIGHT, ids=lambda folder: folder.parent.name)
def test_what_validates_compiles_and_links(folder: Path) -> None:
    tree = FolderTree(folder)
    built = build(tree, base=tree)
    assert built.project is not None
    env = dict.fromkeys(built.project.settings.model.env, "a-test-key-of-more-than-32-characters")
    env |= {"APPLE_KEY": apple_key()} if "APPLE_KEY" in env else {}
    link(built.artifact, name="a", host=fake_host(cast("Any", None)), env=env)


def test_checks_and_old_names_of_a_table_do_not_disturb_its_migration(tmp_path: Path) -> None:
    files = sample(tables__orders=ORDERS)
    project = build(MemoryTree(files)).project
    assert project is not None
    tables = {name: table.model for name, table in project.tables.items()}
    apply(tmp_path / "data.sqlite", tables)
    assert apply(tmp_path / "data.sqlite", tables).changes == ()


ORDERS = NOTES + "renamedFrom: old_orders\nchecks:\n  named: title != ''\n"


# ---- middleware with shapes of its own
TEAMS = {
    "channels/teams.yaml": "name: T\nbasePath: /teams\nauthentication: None\nmiddleware: [team]\n",
    "functions/team.yaml": """
params: { id: integer }
query: { page?: { type: integer, minimum: 1, default: 1 } }
steps:
  - set: { double: "${ params.id * 2 }", next: "${ query.page + 1 }" }
""",
    "functions/run.yaml": """
steps:
  - return:
      value: ["${ vars.double }", "${ vars.next }", "${ params.id }", "${ query.page }"]
""",
    "endpoints/run.yaml": """
channel: teams
method: GET
path: /:id
function: run
description: Tried out here.
""",
}


@pytest.mark.parametrize(("path", "status", "answer"), [
    ("/teams/4?page=2", 200, [8, 3, "4", "2"]),
    ("/teams/4", 200, [8, 2, "4", None]),
])  # fmt: skip
def test_middleware_sees_typed_values_and_what_follows_sees_the_requests_own(
    path: str, status: int, answer: Any, serving: Serving
) -> None:
    async def ask() -> Any:
        async with serving(sample() | TEAMS) as client:
            return await client.ask("GET", path)

    reply = run(ask())
    assert (reply.status, reply.json) == (status, answer)


def test_a_wrong_value_ends_at_the_middleware_that_types_it(serving: Serving) -> None:
    async def ask() -> Any:
        async with serving(sample() | TEAMS) as client:
            return await client.ask("GET", "/teams/x?page=0")

    reply = run(ask())
    assert (reply.status, set(reply.json["error"]["fields"])) == (400, {"id", "page"})


# ---- caches
def test_a_changed_trigger_compiles_its_function_again() -> None:
    cache, insert, update = Cache(), MemoryTree(rows("insert")), MemoryTree(rows("update"))
    assert build(insert, cache, base=insert).compiled == 2
    assert build(insert, cache, base=insert).compiled == 0
    assert build(update, cache, base=update).compiled == 1


def rows(operation: str) -> Files:
    trigger = f"database: {{ table: notes, operation: {operation} }}\nfunction: told\n"
    told = "steps:\n  - log: { message: '${ trigger.newRow.title }' }\n"
    return sample(triggers__changed=trigger, functions__told=told)


def test_two_addons_of_the_same_text_are_two_files() -> None:
    text = "enabled: true\nconfig: { apiKey: '${ env.JWT_SECRET }' }\n"
    _, found = validate(MemoryTree(sample(addons__chatModel=text, addons__aiModel=text)))
    assert {one.code for one in found} <= {*FRAGMENTS}
    _, found = validate(MemoryTree(sample(addons__chatModel=text, addons__crm=text)))
    wrong = {one.place.file for one in found if one.code not in {CODE, *FRAGMENTS}}
    assert wrong == {"addons/crm.yaml"}


# ---- cron
@pytest.mark.parametrize("text", [
    "* * * * *", "*/5 8-18 1,15 JAN MON-FRI", "0 0 29 2 *", "0 0 L * *", "0 9 * * MON#1",
])  # fmt: skip
def test_a_right_schedule_is_taken_as_it_is(text: str) -> None:
    assert check_cron(text) == text


@pytest.mark.parametrize("text", [
    "", "* * * *", "0 * * * * *", "60 * * * *", "a * * * *", "*/0 * * * *", "0 0 30 2 *",
    "5-1 * * * *", "@daily",
])  # fmt: skip
def test_a_wrong_schedule_is_refused(text: str) -> None:
    with pytest.raises(PydanticCustomError):
        check_cron(text)


@given(st.text(alphabet="0123456789*/-,# LW", max_size=24))
def test_whatever_is_taken_has_a_next_time(text: str) -> None:
    try:
        check_cron(text)
    except PydanticCustomError:
        return
    assert next(CronSim(text, datetime(2026, 1, 1, tzinfo=UTC))) > datetime(2026, 1, 1, tzinfo=UTC)
