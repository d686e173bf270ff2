"""Env values at rest: encrypted, bound to their names, never shown."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from bbops.base.errors import BbopsError
from bbops_server.process.host.secrets import Secrets
from tests.support.patience import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    monkeypatch.delenv("BBOPS_KEY", raising=False)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Secrets:
    return Secrets.open(tmp_path / "state")


def declare(**more: Any) -> dict[str, dict[str, Any]]:
    return {"NAME": {"secret": True, "default": None, "generate": False, "required": True, **more}}


def test_a_value_comes_back_and_stands_nowhere_in_clear(store: Secrets, tmp_path: Path) -> None:
    store.set("NAME", "välue-in-clear")
    assert Secrets.open(tmp_path / "state").get("NAME") == "välue-in-clear"
    assert store.get("OTHER") is None
    assert store.names() == ("NAME",)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"in-clear" not in path.read_bytes()


def test_only_the_owner_reads_store_and_key(store: Secrets, tmp_path: Path, home: Path) -> None:
    store.set("NAME", "x")
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state/env.json").stat().st_mode & 0o777 == 0o600
    assert (home / "bbops/key").stat().st_mode & 0o777 == 0o600


def test_reading_an_empty_store_makes_no_key(store: Secrets, home: Path) -> None:
    assert store.names() == ()
    assert store.get("NAME") is None
    assert not home.exists()


def test_unset_forgets(store: Secrets) -> None:
    store.set("NAME", "x")
    assert store.unset("NAME")
    assert not store.unset("NAME")
    assert store.get("NAME") is None


def test_the_stamp_changes_with_the_store(store: Secrets) -> None:
    stamps = [store.stamp()]
    store.set("NAME", "x")
    stamps.append(store.stamp())
    store.set("NAME", "y")
    stamps.append(store.stamp())
    store.names()
    assert len(set(stamps)) == 3
    assert store.stamp() == stamps[-1]


def test_another_key_is_refused_with_a_hint(
    store: Secrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.set("NAME", "hidden")
    monkeypatch.setenv("BBOPS_KEY", b64encode(bytes(32)).decode())
    with pytest.raises(BbopsError, match="encrypted with another key") as caught:
        store.get("NAME")
    assert "BBOPS_KEY" in caught.value.hint
    assert "hidden" not in str(caught.value)
    with pytest.raises(BbopsError, match="encrypted with another key"):
        store.set("OTHER", "x")


def test_a_value_cannot_be_moved_to_another_name(store: Secrets, tmp_path: Path) -> None:
    store.set("ONE", "x")
    file = tmp_path / "state/env.json"
    data = json.loads(file.read_bytes())
    data["TWO"] = data["ONE"]
    file.write_text(json.dumps(data))
    with pytest.raises(BbopsError, match="the value of 'TWO' cannot be decrypted"):
        store.get("TWO")


def test_a_lost_key_is_not_silently_replaced(store: Secrets, home: Path) -> None:
    store.set("NAME", "x")
    (home / "bbops/key").unlink()
    with pytest.raises(BbopsError, match="cannot read the key"):
        store.set("OTHER", "y")


def test_a_key_others_may_read_is_refused(store: Secrets, home: Path) -> None:
    store.set("NAME", "x")
    (home / "bbops/key").chmod(0o644)
    with pytest.raises(BbopsError, match="other users can read the key"):
        store.get("NAME")


def test_a_key_beside_the_store_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "state/config"))
    with pytest.raises(BbopsError, match="next to the data"):
        Secrets.open(tmp_path / "state").set("NAME", "x")


@pytest.mark.parametrize("key", ["nonsense", "c2hvcnQ="])
def test_what_is_no_key_is_refused(
    store: Secrets, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("BBOPS_KEY", key)
    with pytest.raises(BbopsError, match="expected 32 bytes in base64") as caught:
        store.set("NAME", "x")
    assert key not in str(caught.value)


def test_a_damaged_store_is_refused(store: Secrets, tmp_path: Path) -> None:
    (tmp_path / "state/env.json").write_text('{"NAME": 1')
    with pytest.raises(BbopsError, match="is damaged"):
        store.get("NAME")


def test_the_environment_comes_before_the_store(
    store: Secrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.set("NAME", "stored")
    assert store.resolve(declare()) == ({"NAME": "stored"}, [])
    monkeypatch.setenv("NAME", "given")
    assert store.resolve(declare()) == ({"NAME": "given"}, [])
    monkeypatch.setenv("NAME", "")
    assert store.resolve(declare()) == ({"NAME": "stored"}, [])


def test_generate_makes_a_value_once(store: Secrets, tmp_path: Path) -> None:
    values, missing = store.resolve(declare(generate=True, required=False))
    assert missing == []
    assert len(values["NAME"] or "") == 43
    again, _ = Secrets.open(tmp_path / "state").resolve(declare(generate=True))
    assert again == values


def test_without_any_value_a_required_name_is_missing(store: Secrets) -> None:
    assert store.resolve(declare()) == ({"NAME": None}, ["NAME"])
    assert store.resolve(declare(required=False)) == ({"NAME": None}, [])
    assert store.resolve(declare(default="")) == ({"NAME": ""}, [])


def test_processes_that_write_at_once_lose_nothing(store: Secrets, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from bbops_server.process.host.secrets import Secrets\n"
        "store = Secrets.open(Path(sys.argv[1]))\n"
        "for n in range(10): store.set(f'{sys.argv[2]}_{n}', 'x')"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path / "state", name])
        for name in ("A", "B", "C")
    ]
    assert [one.wait(PATIENCE_SECONDS) for one in started] == [0, 0, 0]
    assert len(store.names()) == 30
    assert store.get("B_9") == "x"


def test_a_representation_shows_no_value(store: Secrets) -> None:
    store.set("NAME", "hidden")
    assert "hidden" not in repr(store)
