"""A publication whose SQL trigger the database role may not create."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from bbops.database.postgres.opened import drop_schema
from bbops.database.schema.place import PostgresPlace
from bbops.source.git import store
from tests.support.patience import wait_for
from tests.support.postgres import control_of, new_role
from tests.support.shop import FILES, Work

MARKED = "database: { table: marks, operation: insert }\nfunction: note\n"
NOTE = "steps:\n  - log: { message: marked }\n"


@pytest.mark.long
def test_it_stalls_with_the_grant_and_goes_live_after_it(
    tmp_path: Path, schema: PostgresPlace
) -> None:
    store.init(tmp_path / "shop", FILES, message="Start")
    with (
        new_role(schema) as (role, tenant),
        psycopg.connect(schema.address, autocommit=True) as owner,
        Work(
            tmp_path / "shop", tmp_path / "home", "--schema", schema.schema,
            env={"DATABASE_URL": tenant.url},
        ) as served,
    ):  # fmt: skip
        served.schema = schema
        served.live()
        owner.execute("ALTER TABLE marks OWNER TO CURRENT_USER")
        owner.execute(f"REVOKE ALL ON marks FROM {role}".encode())
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON marks TO {role}".encode())
        grant = f'GRANT TRIGGER ON TABLE "{schema.schema}"."marks" TO "{role}"'

        (served.repository / "triggers/marked.yaml").write_text(MARKED)
        (served.repository / "functions/note.yaml").write_text(NOTE)
        planned = served.bbops("plan", "--live", "--json", "--path", str(served.repository))
        assert planned.stdout, planned.stderr
        plan = json.loads(planned.stdout)["plan"]
        (refused,) = (one for one in plan["work"] if one["code"] == "trigger-refused")
        assert (refused["work"], refused["table"]) == ("triggers/marked", "marks")
        assert refused["cure"] == f"as the owner of the table: {grant}"
        assert any(grant in one for one in plan["verdict"]["refused"])

        served.commit("Hear of marks")
        stalled = served.stalled()
        assert stalled["reason"] == "TriggerRefused"
        assert "may not create an SQL trigger on 'marks'" in stalled["message"]
        assert grant in served.bbops("status").stdout + json.dumps(stalled)
        assert served.order(1) == 201  # the live release answers

        owner.execute(grant.encode())
        assert served.bbops("reconcile", "--wait").returncode == 0
        assert served.order(2) == 201
        done = "SELECT 1 FROM _bbops_job_log WHERE work = 'triggers/marked'"
        wait_for(lambda: served.query(done))
    drop_schema(control_of(schema))
