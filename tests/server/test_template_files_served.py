"""Files of the project that `bbops init` makes: uploaded, served with ranges, and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.served import ADA, Served, make_project

pytestmark = pytest.mark.long

PHOTO = (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 5_000)[:1_280_000]
BOB = {**ADA, "email": "bob@example.com", "name": "Bob"}


def sign_up(served: Served, person: dict[str, str]) -> dict[str, str]:
    reply = served.api.post("/api/auth/register", json=person)
    assert reply.status_code == 201, reply.text
    return {"authorization": f"Bearer {reply.json()['token']}"}


def expect_photo(served: Served, ada: dict[str, str]) -> str:
    """Read the photo whole and in parts, and return its ETag."""
    whole = served.api.get("/api/v1/files/me.png", headers=ada)
    assert (whole.status_code, whole.content == PHOTO) == (200, True)
    assert (whole.headers["content-type"], whole.headers["accept-ranges"]) == ("image/png", "bytes")
    for wanted, expected in (
        ("bytes=256-511", PHOTO[256:512]), ("bytes=1279744-", PHOTO[-256:]),
        ("bytes=-256", PHOTO[-256:]),
    ):  # fmt: skip
        part = served.api.get("/api/v1/files/me.png", headers=ada | {"range": wanted})
        assert (part.status_code, part.content == expected) == (206, True)
    beyond = served.api.get("/api/v1/files/me.png", headers=ada | {"range": "bytes=1280000-"})
    assert beyond.status_code == 416
    return whole.headers["etag"]


def test_an_upload_is_served_with_ranges_and_after_a_restart(tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    with Served(project, tmp_path / "home") as served:
        served.live()
        ada, bob = sign_up(served, ADA), sign_up(served, BOB)
        files = {"file": ("me.png", PHOTO, "image/png")}
        assert served.api.post("/api/v1/files", files=files).status_code == 401
        kept = served.api.post("/api/v1/files", files=files, headers=ada)
        assert (kept.status_code, kept.json()) == (201, {"name": "me.png", "size": len(PHOTO)})
        tag = expect_photo(served, ada)
        assert served.api.get("/api/v1/files/me.png", headers=bob).status_code == 404
        outside = served.api.get("/api/v1/files/..%2f..%2fdata.sqlite", headers=bob)
        assert outside.status_code in {400, 404}
    with Served(project, tmp_path / "home") as again:
        again.live()
        assert expect_photo(again, ada) == tag
        same = again.api.get("/api/v1/files/me.png", headers=ada | {"if-none-match": tag})
        assert (same.status_code, same.content) == (304, b"")
        assert again.api.get("/api/v1/files/me.png", headers=bob).status_code == 404
