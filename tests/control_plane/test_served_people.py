"""People on a server that runs: set-up, this machine's user, features, a restart."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.support.control import PASSWORD
from tests.support.patience import PATIENCE_SECONDS
from tests.support.served import Served, environment, make_project
from tests.support.served_people import run, set_up

pytestmark = pytest.mark.long


def test_a_server_is_set_up_and_its_own_user_needs_no_sign_in(tmp_path: Path) -> None:
    repository = make_project(tmp_path / "sample")
    with Served(repository, tmp_path / "home") as served:
        served.live()
        assert served.control.get("/api/projects").status_code == 200
        with closing(set_up(served)) as browser:
            assert browser.get("/people").status_code == 200
        assert served.control.get("/api/projects").status_code == 401
        state = repository / ".bbops/state"
        for name in ("control.sqlite", "control.json"):
            assert stat.S_IMODE((state / name).stat().st_mode) == 0o600
        assert run(served, "status").returncode == 0
        assert json.loads(run(served, "whoami", "--json").stdout)["how"] == "local"
        elsewhere = served.bbops("status")
        assert (elsewhere.returncode, "bbops login" in elsewhere.stderr) == (2, True)
        off = run(served, "workspace", "set", "features.restChannels=off")
        assert off.returncode == 0, off.stderr
        assert served.stalled()["diagnostics"][0]["code"] == "feature-off"
        assert served.api.get("/api/me").status_code == 401  # the last release keeps serving
        on = run(served, "workspace", "set", "features.restChannels=on")
        assert (on.returncode, on.stderr) == (0, "")
        served.live()
    assert not (state / "control.json").exists()
    with Served(repository, tmp_path / "home") as again:
        assert again.serving["setup_url"] == ""
        assert again.control.get("/api/projects").status_code == 401
    log = (tmp_path / "home/log").read_text()
    assert re.search("bb[psilv]_[a-z0-9]{40}", log) is None
    assert PASSWORD not in log


def test_a_control_plane_beyond_this_machine_takes_https(tmp_path: Path) -> None:
    repository = make_project(tmp_path / "sample")
    command = [sys.executable, "-P", "-m", "bbops", "serve", str(repository), "--control-host"]
    env = environment(tmp_path)
    done = subprocess.run(
        [*command, "0.0.0.0"], capture_output=True, text=True, check=False, timeout=60, env=env,
        cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, "without https" in done.stderr) == (2, True)
    more = ("--control-host", "0.0.0.0", "--control-url", "https://bbops.example.com")
    with Served(repository, tmp_path / "home", *more) as served:
        assert served.serving["control_url"] == "https://bbops.example.com"
        found = json.loads((repository / ".bbops/state/control.json").read_bytes())
        there = {"host": "bbops.example.com"}
        with httpx.Client(base_url=found["url"], timeout=PATIENCE_SECONDS) as client:
            assert client.get("/api/projects", headers=there).status_code == 401
            assert client.get("/api/projects").status_code == 401
            assert client.get("/", headers={"host": "evil.example"}).status_code == 403
            token = {"authorization": f"Bearer {found['token']}"}
            assert client.get("/api/projects", headers=token).status_code == 200
