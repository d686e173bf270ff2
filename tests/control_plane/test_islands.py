"""Built files of the dashboard: tags, delivery, and pages without them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from bbops_server.control_plane.web.islands import Islands
from tests.support.control import Browser, Tried, tried

__all__ = ["tried"]

SCRIPT = b"customElements.define('bb-code', class extends HTMLElement {});"
MANIFEST = {
    "islands": {"code": {"file": "code-A.js", "style": "code-B.css", "parts": ["part-C.js"]}},
    "fonts": {"inter": "inter-D.woff2"},
    "files": {
        name: {"integrity": f"sha384-{name[:4]}"}
        for name in ("code-A.js", "code-B.css", "part-C.js", "inter-D.woff2")
    },
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types bbops bbops-inert"
)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "built"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    for name in ("code-A.js", "code-B.css", "part-C.js"):
        (folder / f"{name}.gz").write_bytes(gzip.compress(SCRIPT))
        (folder / f"{name}.br").write_bytes(b"brotli")
    (folder / "inter-D.woff2").write_bytes(b"wOF2")
    return folder


@pytest.fixture
def browser(tried: Tried, built: Path, monkeypatch: pytest.MonkeyPatch) -> Browser:
    monkeypatch.setattr(tried.app.state, "islands", Islands.load(built))
    return tried.browser()


def test_tags_load_style_parts_and_script_with_their_digests(built: Path) -> None:
    assert Islands.load(built).tags("code").splitlines() == [
        '<link rel="stylesheet" href="/built/code-B.css" integrity="sha384-code">',
        '<link rel="modulepreload" href="/built/part-C.js" integrity="sha384-part">',
        '<script type="module" src="/built/code-A.js" integrity="sha384-code"></script>',
    ]
    assert Islands.load(built).font("inter") == "/built/inter-D.woff2"


def test_server_without_built_files_has_no_tags_and_no_fonts(tmp_path: Path) -> None:
    islands = Islands.load(tmp_path)
    assert (islands.tags("code"), islands.font("inter"), dict(islands.files)) == ("", "", {})


@pytest.mark.parametrize("damage", ["manifest.json", "code-A.js.gz"])
def test_damaged_built_files_are_reported_and_left_out(
    built: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    if damage == "manifest.json":
        (built / damage).write_text("{")
    else:
        (built / damage).unlink()
    assert Islands.load(built).tags("code") == ""
    assert "pages have no islands" in caplog.text


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br", "br"), ("gzip;q=1.0", "gzip"), ("br;q=0, gzip", "gzip"),
        ("", "identity"), ("identity", "identity"), ("br;q=0.000, deflate", "identity"),
    ],
)  # fmt: skip
def test_best_coding_of_a_file_is_chosen(built: Path, accepted: str, coding: str) -> None:
    found, content = Islands.load(built).files["code-A.js"].encode(accepted)
    assert found == coding
    if coding != "br":
        assert (gzip.decompress(content) if coding == "gzip" else content) == SCRIPT


def test_built_file_is_sent_compressed_and_kept_for_ever(browser: Browser) -> None:
    answer = browser.get("/built/code-A.js", headers={"accept-encoding": "gzip"})
    assert answer.content == SCRIPT
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["vary"] == "accept-encoding"


@pytest.mark.parametrize(
    "name", ["manifest.json", "code-A.js.gz", "made-of", "..%2Fapp.py", "code-Z.js", "%00"]
)
def test_only_files_of_the_manifest_are_sent(browser: Browser, name: str) -> None:
    assert browser.get(f"/built/{name}").status_code == 404


def test_font_is_sent_as_it_is(browser: Browser) -> None:
    answer = browser.get("/built/inter-D.woff2")
    assert answer.content == b"wOF2"
    assert answer.headers["content-type"] == "font/woff2"


@pytest.mark.parametrize("path", ["/", "/signin", "/projects/small/requests", "/none"])
def test_every_page_has_the_policy(tried: Tried, path: str) -> None:
    answer = tried.as_person("ada@example.com").get(path)
    assert answer.headers["content-security-policy"] == POLICY


def test_theme_is_kept_by_a_form(tried: Tried) -> None:
    browser = tried.as_person("ada@example.com")
    page = browser.get("/projects/small/endpoints")
    assert "data-theme" not in page.text
    headers = {"referer": "http://127.0.0.1:8001/projects/small/endpoints?q=a"}
    answer = browser.post("/theme", {"theme": "dark"}, headers=headers)
    assert answer.headers["location"] == "/projects/small/endpoints?q=a"
    assert 'data-theme="dark"' in browser.get("/projects/small/endpoints").text
    browser.post("/theme", {"theme": "<script>"})
    assert "data-theme" not in browser.get("/projects/small/endpoints").text


@pytest.mark.parametrize(
    "before", ["https://evil.example//x", "//evil.example", "javascript:a", ""]
)
def test_theme_form_returns_to_pages_of_this_server_only(tried: Tried, before: str) -> None:
    browser = tried.as_person("ada@example.com")
    browser.get("/")
    answer = browser.post("/theme", {"theme": "dark"}, headers={"referer": before})
    assert answer.headers["location"] in {"/", "/x"}


# ---- compression
@pytest.mark.parametrize("path", ["/style.css", "/icons.svg"])
def test_stylesheet_and_icons_are_compressed(tried: Tried, path: str) -> None:
    answer = tried.browser().get(path, headers={"accept-encoding": "gzip"})
    assert (answer.status_code, answer.headers["content-encoding"]) == (200, "gzip")
    plain = tried.browser().get(path, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == answer.content


def test_pages_with_secrets_are_not_compressed(tried: Tried) -> None:
    answer = tried.browser().get("/signin", headers={"accept-encoding": "gzip"})
    assert "csrf" in answer.text
    assert "content-encoding" not in answer.headers
