"""A topic shows a subscriber the changes of those rows that the rules of their table let it see."""

from __future__ import annotations

import json
from random import Random
from typing import Any, cast

import pytest

from bbops.compiler.compile.release import build
from bbops.compiler.testing.host import fake_host
from bbops.runtime.linking.release import link
from bbops.runtime.realtime.linking import link_topics
from bbops.runtime.realtime.rows import DELETED, INSERTED, LEFT, UPDATED, RowsRule
from bbops.runtime.work.rows import row_event
from bbops.source.tree import MemoryTree
from tests.conftest import ENV, sample
from tests.support.ruled import (
    CHANNEL,
    COLUMNS,
    PEOPLE,
    PROJECT,
    Part,
    Row,
    Ruled,
    Seen,
    User,
    condition,
    draw_data,
    draw_rules,
)

ROUNDS, CHANGES = 40, 24
COLUMNS_OF_NOTES = ("id", "gone", *COLUMNS["notes"])


def rule_of(rules: Ruled, topic: str) -> tuple[RowsRule, Any]:
    """Return the rows of a topic about notes, and what makes a run."""
    files = sample(
        project=PROJECT, tables__people=PEOPLE, channels__desk=CHANNEL, realtime__notes=topic
    )
    files |= {f"tables/{name}.yaml": rules.yaml(name) for name in COLUMNS}
    tree = MemoryTree(files)
    built = build(tree, base=tree)
    assert built.project is not None, [*map(str, built.diagnostics)]
    release = link(built.artifact, name="bench", host=fake_host(cast(Any, None)), env=ENV)
    (found,) = link_topics(built.artifact, release).on_rows(row_event("notes", "insert"))
    assert found.rows is not None
    return found.rows, release.answering.run


def payload(new: Row | None, old: Row | None) -> str:
    def parts(row: Row | None) -> list[Row] | None:
        return None if row is None else [{name: row[name] for name in COLUMNS_OF_NOTES}]

    return json.dumps({"newRow": parts(new), "oldRow": parts(old)})


def sees(rules: Ruled, user: User, row: Row | None, where: Part) -> bool:
    if row is None:
        return False
    seen = Seen({"notes": [row]}, rules, user)
    return bool(seen.rows("notes")) and where.holds(seen, row)


def expected(is_new: bool, is_old: bool, new: Row | None) -> str | None:
    if is_new:
        return UPDATED if is_old else INSERTED
    if is_old:
        return DELETED if new is None else LEFT
    return None


@pytest.mark.parametrize("authentication", ["JWT", "None"])
def test_what_a_subscriber_sees_of_changes_is_what_plain_python_says(authentication: str) -> None:
    random, seen_some = Random(5), 0
    for _ in range(ROUNDS):
        rules = draw_rules(random)
        own = condition(random, "notes", 2, related=False)
        access = dict(rules.access) | {"notes": dict.fromkeys(("read", "insert", "update"), own)}
        access["notes"]["delete"] = own
        rules = Ruled(rules.scope, access)
        where = condition(random, "notes", 1, related=False)
        if authentication == "None" and "vars" in where.text:  # nobody has signed in there
            where = Part("true", lambda *_: True)
        rule, begin = rule_of(rules, (
            f"topic: notes\nauthentication: {authentication}\n"
            f'rows:\n  table: notes\n  where: "{where.text}"\n  select: [id, score]\n'
        ))  # fmt: skip
        notes = [*draw_data(random)["notes"], None]
        for _ in range(CHANGES):
            new, old = random.choice(notes), random.choice(notes)
            if new is None and old is None:
                continue
            for user in (None, 0, 1, 2) if authentication == "None" else (0, 1, 2):
                run = begin()
                role = "admin" if user == 0 else "user"
                run.auth = None if user is None else {"userId": user, "role": role}
                run.params = {}
                is_new, is_old = (sees(rules, user, row, where) for row in (new, old))
                change = rule.change(payload(new, old))
                found = rule.sees(run, change)
                told = None if found is None else found.event
                assert told == expected(is_new, is_old, new), (rules, where, new, old)
                seen_some += told is not None
                if told is not None and rule.key is not None:
                    assert rule.key(run) in rule.keys_of(change)
    assert seen_some > 100
