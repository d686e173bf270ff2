"""SQL triggers of a PostgreSQL role that does not own the tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from bbops.base.errors import TriggerRefused
from bbops.database.migrate import rollout
from bbops.database.migrate.listening import find_all_refused, refuse_triggers
from bbops.database.migrate.opened import read_tables
from bbops.database.schema.place import PostgresPlace
from bbops.database.schema.row_events import RowEvents
from tests.support.migrating import declare
from tests.support.postgres import new_role

TABLES = declare({
    "orders": {"columns": {
        "id": {"type": "integer", "primaryKey": True}, "state": {"type": "string", "maxLength": 9},
    }},
})  # fmt: skip
INSERTED = {"orders": RowEvents.of(["insert"], ["id"])}


@dataclass(frozen=True)
class Rented:
    """A schema whose table belongs to another role, seen by that owner and by the tenant."""

    role: str
    tenant: PostgresPlace
    owner: psycopg.Connection[Any]

    def expand(self, **events: RowEvents) -> None:
        rollout.expand(self.tenant, TABLES, row_events=events, release="a")

    def count(self, query: str) -> int:
        return int((self.owner.execute(query.encode()).fetchone() or (0,))[0])


@pytest.fixture
def rented(schema: PostgresPlace) -> Iterator[Rented]:
    with (
        new_role(schema) as (role, tenant),
        psycopg.connect(schema.address, autocommit=True) as owner,
    ):
        rollout.expand(tenant, TABLES)
        owner.execute("ALTER TABLE orders OWNER TO CURRENT_USER")
        owner.execute(f"REVOKE ALL ON orders FROM {role}".encode())
        owner.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO {role}".encode())
        yield Rented(role, tenant, owner)


def test_a_trigger_on_a_table_of_another_role_is_refused_with_the_grant(rented: Rented) -> None:
    with pytest.raises(TriggerRefused) as refused:
        refuse_triggers(rented.tenant, INSERTED)
    grant = f'GRANT TRIGGER ON TABLE "{rented.tenant.schema}"."orders" TO "{rented.role}"'
    assert refused.value.message.endswith("may not create an SQL trigger on 'orders'")
    assert refused.value.hint.endswith(grant)
    with pytest.raises(TriggerRefused):
        rented.expand(**INSERTED)
    with read_tables(rented.tenant) as live:
        assert find_all_refused(live, ["orders", "missing"]) == {"orders": grant}

    rented.owner.execute(grant.encode())
    refuse_triggers(rented.tenant, INSERTED)
    rented.expand(**INSERTED)
    rented.owner.execute("INSERT INTO orders (id, state) VALUES (1, 'new')")
    assert rented.count("SELECT count(*) FROM _bbops_outbox") == 1


def test_a_trigger_that_only_the_owner_can_drop_stays_and_reports_nothing(rented: Rented) -> None:
    rented.owner.execute(f"GRANT TRIGGER ON orders TO {rented.role}".encode())
    rented.expand(**INSERTED)
    rollout.settle(rented.tenant, "a")
    rollout.narrow(rented.tenant, "a")
    rented.expand()
    rollout.settle(rented.tenant, "a")
    rollout.narrow(rented.tenant, "a")
    rented.owner.execute("INSERT INTO orders (id, state) VALUES (1, 'new')")
    assert rented.count("SELECT count(*) FROM _bbops_outbox") == 0
    rented.expand(**INSERTED)
    rented.owner.execute("INSERT INTO orders (id, state) VALUES (2, 'new')")
    assert rented.count("SELECT count(*) FROM _bbops_outbox") == 1


def test_a_schema_without_create_refuses_triggers_with_its_own_grant(rented: Rented) -> None:
    schema = rented.tenant.schema
    rented.owner.execute(f"GRANT TRIGGER ON orders TO {rented.role}".encode())
    rented.owner.execute(f'REVOKE CREATE ON SCHEMA "{schema}" FROM {rented.role}'.encode())
    with pytest.raises(TriggerRefused) as refused:
        refuse_triggers(rented.tenant, INSERTED)
    assert refused.value.hint.endswith(f'GRANT CREATE ON SCHEMA "{schema}" TO "{rented.role}"')


def test_a_role_that_owns_the_table_needs_no_grant(schema: PostgresPlace) -> None:
    with new_role(schema) as (_, tenant):
        rollout.expand(tenant, TABLES)
        refuse_triggers(tenant, INSERTED)
        rollout.expand(tenant, TABLES, row_events=INSERTED, release="a")
