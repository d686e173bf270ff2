"""docs/signing-in-agents.md says what is so: every address, scope, prefix and time."""

from __future__ import annotations

import re

from bbops_server.accounts.issuing import ACCESS_LASTS, CODE_LASTS, GRACE, REFRESH_LASTS
from bbops_server.accounts.logins import LASTS
from bbops_server.accounts.rules import GRANTED, GrantScope
from bbops_server.mcp.oauth.client import MOST_BYTES, TIMEOUT_SECONDS
from bbops_server.mcp.oauth.endpoints import Endpoints
from tests.conftest import ROOT

PAGE = (ROOT / "docs/signing-in-agents.md").read_text()


def test_it_names_every_address() -> None:
    told = Endpoints("").describe_server(reads_documents=True)
    paths = {path for name, path in told.items() if name.endswith("_endpoint")}
    assert paths <= set(re.findall(r"`(/[\w/.-]+)`", PAGE))


def test_it_names_every_scope_and_says_which_do_nothing_yet() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", PAGE, re.MULTILINE))
    assert set(rows) == set(GrantScope)
    assert {GrantScope(one) for one, may in rows.items() if may == "yes"} == {
        one for one, permissions in GRANTED.items() if permissions
    }


def test_times_and_sizes_are_those_of_the_code() -> None:
    seconds = [one.total_seconds() for one in (CODE_LASTS, ACCESS_LASTS, LASTS, GRACE)]
    assert seconds == [60, 3_600, 900, 10]
    assert (REFRESH_LASTS.days, MOST_BYTES, TIMEOUT_SECONDS) == (30, 5 << 10, 5)
    for said in (
        "a minute",
        "an hour",
        "15 minutes",
        "ten seconds",
        "30 days",
        "5 KiB in 5 seconds",
    ):
        assert said in PAGE
