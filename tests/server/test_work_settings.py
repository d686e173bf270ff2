"""`work` of a server's file: how many jobs run at a time, changed while they run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bbops.source.git import store
from tests.support.patience import wait_for
from tests.support.receiving import Receiver, receiver
from tests.support.shop import FILES, Work

__all__ = ["receiver"]

CALL = """
payload: { number: integer }
steps:
  - http:
      method: POST
      url: ${ env.PARTNER_URL }
      body: { number: "${ event.payload.number }" }
"""
OWN = {
    "project.yaml": b"bbops: 1\nname: shop\nenv: { PARTNER_URL: {} }\n",
    "functions/fulfil.yaml": CALL.encode(),
}
SETTINGS = "egress: {{ allow: [127.0.0.1] }}\nwork: {{ concurrency: {most} }}\n"


@pytest.mark.long
def test_a_project_runs_as_many_jobs_at_a_time_as_the_file_allows(
    tmp_path: Path, receiver: Receiver
) -> None:
    store.init(tmp_path / "shop", FILES | OWN, message="Start")
    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS.format(most=2))
    given, env = ["--settings", str(settings)], {"PARTNER_URL": receiver.url("/partner")}
    gate = receiver.gate("/partner")
    with Work(tmp_path / "shop", tmp_path / "home", *given, env=env) as served:
        served.live()
        for number in range(5):
            assert served.order(number) == 201
        wait_for(lambda: served.states() == {"running": 2, "ready": 3})
        settings.write_text(SETTINGS.format(most=4))
        wait_for(lambda: served.states() == {"running": 4, "ready": 1})
        settings.write_text(SETTINGS.format(most=1))
        gate.set()
        wait_for(lambda: served.states() == {})
    assert len(receiver.got) == 5
