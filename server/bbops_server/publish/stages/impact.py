"""What would become of the live data, and which values miss, with tables that are not here yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bbops_server.process.messages.build.proposals.weigh_tables import WeighTables
from bbops_server.publish.sources.context import PublishContext

WEIGH_SECONDS: Final = 120.0


async def weigh(
    at: PublishContext, tables: Mapping[str, Mapping[str, Any]], env: Sequence[str]
) -> dict[str, Any]:
    """Return what `bbops db plan --json` would print, and the names in `env` that have a value.

    Args:
        at: of the project.
        tables: as files would say them; they are checked like any.
        env: names of variables.

    Raises:
        BbopsError: the tables have mistakes, or the database cannot be asked.
    """
    asked = WeighTables(tables=tables, engine=at.engine, **at.asked_of)
    answer = await at.plane.build.ask(asked, timeout_seconds=WEIGH_SECONDS)
    return answer.plan | {"env": [name for name in env if at.secrets.has(name)]}
