"""`bbops serve` from outside: what requests may cost, and what is remembered of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.patience import wait_for
from tests.support.processes import children
from tests.support.raw import connect, head
from tests.support.served import Served, environment
from tests.support.served_sample import repository, served
from tests.support.warm import COLD

__all__ = ["repository", "served"]

pytestmark = pytest.mark.long


def test_a_huge_body_is_413_and_the_server_serves_on(served: Served) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * (1 << 20)

    told = served.api.post("/api/auth/login", content=b"x" * (2 << 20))
    assert told.status_code == 413
    assert told.json()["error"]["code"] == "payloadTooLarge"
    try:
        streamed = served.api.post("/api/auth/login", content=chunks()).status_code
    except OSError:
        streamed = 413
    except Exception as error:  # noqa: BLE001 - the server closed while we still wrote
        assert "rite" in type(error).__name__ or "Protocol" in type(error).__name__  # noqa: PT017
        streamed = 413
    assert streamed == 413
    assert served.api.get("/api/me").status_code == 401


def test_a_function_without_end_is_stopped_and_others_are_answered(served: Served) -> None:
    (served.repository / "functions/spin.yaml").write_text(
        "steps:\n"
        "  - loop:\n      over: range(100000)\n      steps:\n"
        "        - loop:\n            over: range(100000)\n            collect: ${ 1 }\n"
    )
    (served.repository / "functions/again.yaml").write_text(
        "steps:\n  - if: random(1, 2) > 0\n    then:\n      - call: { function: twice }\n"
    )
    (served.repository / "functions/twice.yaml").write_text(
        "steps:\n  - call: { function: again }\n"
    )
    for name in ("spin", "again"):
        (served.repository / f"endpoints/{name}.yaml").write_text(
            f"method: POST\npath: /{name}\nfunction: {name}\nauthentication: None\n"
        )
    served.commit()
    served.live()
    assert served.api.post("/spin").status_code == 500
    assert served.api.post("/again").status_code == 500
    assert served.api.get("/api/me").status_code == 401
    log = (served.home / "log").read_text()
    assert "functions/spin.yaml:" in log
    assert "functions/again.yaml:4" in log


@pytest.fixture
def cold(repository: Path, tmp_path: Path) -> Iterator[Served]:
    with Served(repository, tmp_path / "home", env={COLD: "1"}) as running:
        running.live()
        yield running


def test_secrets_are_in_no_log_argument_or_file_of_the_state(cold: Served) -> None:
    served = cold
    served.sign_up()
    pids = children(served.process.pid)
    assert len(pids) == 2
    state = served.repository / ".bbops/state"
    assert oct(state.stat().st_mode & 0o777) == "0o700"
    assert oct((state / "env.json").stat().st_mode & 0o777) == "0o600"
    others_may = [
        str(path)
        for path in state.rglob("*")
        if not path.is_symlink() and path.stat().st_mode & 0o077
    ]
    assert others_may == []
    secret = served.sign_up(email="eve@example.com")["authorization"].split()[1]
    for pid in [served.process.pid, *pids] if sys.platform == "linux" else []:
        told = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        assert b"JWT_SECRET" not in told
    assert secret not in (served.home / "log").read_text()


def test_answered_requests_are_remembered_and_can_be_asked_for(served: Served) -> None:
    headers = served.sign_up()
    made = served.api.post("/api/v1/notes?secret=hunter2", json={"title": "x"}, headers=headers)
    served.api.get(f"/api/v1/notes/{made.json()['id']}", headers=headers)
    served.api.get("/nowhere")
    (name,) = [one["name"] for one in served.control.get("/api/projects").json()]
    requests = f"/api/projects/{name}/requests"
    wait_for(lambda: len(served.control.get(requests).json()) == 4)
    found = served.control.get(requests).json()
    assert [(one["method"], one["route"], one["status"]) for one in found] == [
        ("POST", "/api/auth/register", 201),
        ("POST", "/api/v1/notes", 201),
        ("GET", "/api/v1/notes/:id", 200),
        ("GET", "", 404),
    ]
    assert found[1]["user"]
    assert found[1]["release"] == served.status()["release"]
    assert found[1]["milliseconds"] > 0
    assert "hunter2" not in str(found)
    missing = served.control.get(f"/api/projects/{name}/requests?status=4xx").json()
    assert [one["path"] for one in missing] == ["/nowhere"]
    assert served.control.get(f"/api/projects/{name}/requests?status=9").status_code == 400
    done = subprocess.run(
        [sys.executable, "-m", "bbops", "requests", "--server", str(served.control.base_url)],
        env=environment(served.home), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "/api/auth/register" in done.stdout
    assert done.stdout.count("\n") == 5
    assert done.stdout.endswith("/nowhere\n    notFound: no such route\n")


def test_secrets_in_a_path_are_remembered_by_their_place_only(served: Served) -> None:
    (served.repository / "functions/reset.yaml").write_text("steps:\n  - return: { value: 1 }\n")
    (served.repository / "endpoints/reset.yaml").write_text(
        "method: POST\npath: /reset/:token\nfunction: reset\nauthentication: None\n"
    )
    served.commit()
    served.live()
    assert served.api.post("/reset/hunter2%2Fhunter3").status_code == 200
    assert served.api.get("/reset/hunter2").status_code == 405
    (name,) = [one["name"] for one in served.control.get("/api/projects").json()]
    requests = f"/api/projects/{name}/requests"
    wait_for(lambda: len(served.control.get(requests).json()) == 2)
    found = served.control.get(requests)
    assert [one["path"] for one in found.json()] == ["/reset/***"] * 2
    assert "hunter" not in found.text


SLOW = """
steps:
  - log: { message: the slow one began }
  - loop:
      over: range(12)
      steps:
        - hashPassword: { password: slow, rounds: 12 }
  - log: { message: the slow one finished }
  - return: { value: done }
"""


def serve_slow(served: Served, timeout: str) -> None:
    """Serve `/slow`, and `/patient` that takes as long and has the time."""
    for name, limit in (("slow", timeout), ("patient", "170s")):
        text = SLOW.replace("the slow one", f"the {name} one")
        (served.repository / f"functions/{name}.yaml").write_text(text)
        (served.repository / f"endpoints/{name}.yaml").write_text(
            f"method: GET\npath: /{name}\nfunction: {name}\nauthentication: None\n"
            f"timeout: {limit}\n"
        )
    served.commit()
    served.live()


def log_after_patient_request(served: Served) -> str:
    """Return the log once `/patient` has finished, which began later than `/slow`."""
    assert served.api.get("/patient").status_code == 200
    log = served.home / "log"
    wait_for(lambda: "the patient one finished" in log.read_text())
    return log.read_text()


def test_an_endpoint_over_its_time_is_503_and_ends(served: Served) -> None:
    serve_slow(served, "500ms")
    reply = served.api.get("/slow")
    assert reply.status_code == 503
    assert reply.headers["retry-after"] == "1"
    assert reply.json()["error"]["code"] == "serviceUnavailable"
    assert "the slow one finished" not in log_after_patient_request(served)


def test_a_client_that_leaves_ends_its_request(served: Served) -> None:
    serve_slow(served, "30s")
    with connect(served.serving["url"]) as connection:
        connection.sendall(head("GET /slow HTTP/1.1"))
        wait_for(lambda: "the slow one began" in (served.home / "log").read_text())
    assert "the slow one finished" not in log_after_patient_request(served)
    assert served.api.get("/api/me").status_code == 401
