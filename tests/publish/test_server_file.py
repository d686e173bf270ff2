"""`server.yaml`: what it may say, and what is said of one with mistakes.

Golden folders: a new case is a new folder under tests/golden/server; `pytest --update-golden`
writes `expected.txt`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time
from pathlib import Path

import pytest

from bbops_server.settings import (
    ATTEMPTED,
    Access,
    BrowserSettings,
    BucketSettings,
    DraftSettings,
    FileSettings,
    ProjectSettings,
    Settings,
    Webhook,
    WorkSettings,
)
from bbops_server.settings.freezes import Once, Weekly
from bbops_server.settings.repositories import CiTrust
from bbops_server.settings.server_file.ci import GITHUB, GITLAB
from bbops_server.settings.server_file.load import Read, load, read_file
from bbops_server.settings.server_file.settings import (
    access_settings,
    find_restarts,
    project_settings,
    server_settings,
    work_settings,
)
from tests.conftest import ROOT

pytestmark = pytest.mark.quick

CASES = sorted(path.parent for path in (ROOT / "tests/golden/server").glob("*/server.yaml"))
ENV = {"DATA": "0.0.0.0:9000", "WORKERS": "3", "TEAM": "ours", "HOST": "www.example.com"}


def read(text: str) -> Read:
    return load("server.yaml", text.encode(), ENV)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_file_is_told_what_the_golden_folder_expects(
    case: Path, request: pytest.FixtureRequest
) -> None:
    result = read_file(case / "server.yaml", ENV)
    found = "".join(f"{one}\n" for one in result.diagnostics) or "no problems\n"
    expected = case / "expected.txt"
    if request.config.getoption("--update-golden"):
        expected.write_text(found)
    assert found == expected.read_text()
    assert (result.file is None) == bool(result.diagnostics)


def test_a_file_that_is_not_there_is_a_diagnostic(tmp_path: Path) -> None:
    (found,) = read_file(tmp_path / "server.yaml").diagnostics
    assert str(found) == (
        "server.yaml:1:1: error: the file cannot be read: no such file or directory [unreadable]"
    )


def test_values_come_from_the_environment_and_options_before_all(tmp_path: Path) -> None:
    file = read_file(ROOT / "tests/golden/server/ok-everything/server.yaml", ENV).file
    assert file is not None
    assert file.projects["shop"].repository == "https://git.example.com/ours/shop.git"
    settings = server_settings(file, tmp_path, {})
    assert settings == Settings(
        tmp_path, host="0.0.0.0", port=9000, control_host="::1", control_port=8001, workers=3,
        data_shown="https://api.example.com", control_shown="http://127.0.0.1:9001",
        access=Access(proxies=("10.0.0.7", "10.1.0.0/16", "fd00::/8")),
        drafts=DraftSettings(60, 20),
        freezes=(
            Once(
                datetime(2026, 12, 23, 23, tzinfo=UTC), datetime(2027, 1, 1, 23, tzinfo=UTC),
                "holidays",
            ),
            Weekly(frozenset({4, 5}), time(16), time(0), "Europe/Berlin", "the shop is full"),
            Weekly(frozenset({6}), time(0), time(0), "UTC"),
        ),
        egress=("10.1.0.0/16", "fd00::/8", "wiki.example.com"), reads_clients=False,
        version_tag="live/{project}/v{number}",
        browser=BrowserSettings("/opt/chromium/chrome", sandbox=False),
        files=FileSettings(
            2 << 30, 5_000,
            BucketSettings("https://s3.example.com", "ours", "eu-central-1", "KEY", "ours"),
        ),
        webhooks=(
            Webhook("https://chat.example.com/hooks/1", frozenset({"stalled"}), "CHAT_SECRET"),
            Webhook("http://127.0.0.1:9100/hook", frozenset(ATTEMPTED), "OPS_SECRET"),
        ),
    )  # fmt: skip
    assert work_settings(file) == WorkSettings(20, 30 * 86_400)
    given = server_settings(file, tmp_path, {"port": 0, "workers": 1})
    assert (given.host, given.port, given.workers) == ("0.0.0.0", 0, 1)
    shop = project_settings(file, Settings(tmp_path))["shop"]
    assert shop == ProjectSettings(
        tmp_path / "projects/shop", "shop", "release/next", "apps/shop",
        ("shop.example.com", "www.example.com"), "/v1/shop",
    )  # fmt: skip


def test_file_names_trusted_workflows() -> None:
    file = read_file(ROOT / "tests/golden/server/ok-ci/server.yaml", ENV).file
    assert file is not None
    main, gitlab = "refs/heads/release/next", ("production", ".gitlab-ci.yml")
    shared = "owner/name/.forgejo/workflows/bbops.yml@refs/heads/main"
    forgejo, own = "http://localhost:3000/api/actions", "https://git.example.com"
    assert access_settings(file).trusts == (
        CiTrust("shop", "github", GITHUB, "123456", "4567", main),
        CiTrust("shop", "gitlab", GITLAB, "46573356", "68413579", "refs/tags/*", *gitlab),
        CiTrust("shop", "github", forgejo, "1", "2", "refs/pull/*/merge", "", shared),
        CiTrust("shop", "gitlab", own, "1", "2", main),
    )


def test_numbers_of_trusts_can_come_from_the_environment() -> None:
    text = (
        "projects: { shop: { repository: s, ci: [{ repositoryId: '${ env.ID }', ownerId: 2 }] } }"
    )
    file = load("server.yaml", text.encode(), {"ID": "123456789012"}).file
    assert file is not None
    assert access_settings(file).trusts[0].repository_id == "123456789012"


def test_an_issuer_is_of_one_kind() -> None:
    one = "issuer: https://git.example.com, repositoryId: 1, ownerId: 2"
    text = (
        f"projects: {{ shop: {{ repository: s, ci: [{{ {one} }}] }},"
        f" blog: {{ repository: b, pathPrefix: /b, ci: [{{ {one}, kind: gitlab }}] }} }}"
    )
    (found,) = load("server.yaml", text.encode(), {}).diagnostics
    assert "both of kind 'github' and of kind 'gitlab'" in found.message


def test_page_about_ci_shows_valid_files() -> None:
    text = (ROOT / "docs/ci.md").read_text()
    files = [block for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
             if "repositoryId" in block]  # fmt: skip
    assert [len(load("server.yaml", file.encode(), {}).diagnostics) for file in files] == [0]


def test_the_control_plane_is_at_the_root_of_its_host() -> None:
    text = "urls: { control: https://example.com/bbops }\nprojects: {}\n"
    (found,) = load("server.yaml", text.encode(), {}).diagnostics
    assert (found.code, "without a path" in found.message) == ("bad-value", True)


@pytest.mark.parametrize(
    ("data_shown", "hosts", "prefix", "url"),
    [
        ("", (), "", "http://127.0.0.1:8000"),
        ("", (), "/shop", "http://127.0.0.1:8000/shop"),
        ("", ("shop.test", "b.test"), "/v1", "http://shop.test:8000/v1"),
        ("https://api.example.com", (), "/shop", "https://api.example.com/shop"),
        ("https://api.example.com", ("shop.test",), "", "https://shop.test"),
        (
            "https://api.example.com:8443/all",
            ("shop.test",),
            "/v1",
            "https://shop.test:8443/all/v1",
        ),
    ],
)
def test_a_project_is_told_to_be_where_people_reach_it(
    tmp_path: Path, data_shown: str, hosts: tuple[str, ...], prefix: str, url: str
) -> None:
    project = ProjectSettings(tmp_path, "shop", hosts=hosts, prefix=prefix)
    assert Settings(tmp_path, data_shown=data_shown).url_of(project) == url


def test_what_only_a_restart_changes_is_told_at_its_place() -> None:
    old, new = read("projects: {}\n"), read("workers: 2\nbind: {data: '[::1]:1'}\nprojects: {}\n")
    assert old.file is not None
    assert new.file is not None
    assert new.document is not None
    found = list(find_restarts("server.yaml", new.document, old.file, new.file, {}))
    assert [(str(one.place), one.message, one.severity) for one in found] == [
        (place, f"{what} until the server is started again", "warning")
        for place, what in (
            ("server.yaml:2:15", "'data' stays '127.0.0.1:8000'"),
            ("server.yaml:1:10", "'workers' stays '1'"),
        )
    ]
    given = {"workers": 4, "host": "127.0.0.1", "port": 1}
    assert not list(find_restarts("server.yaml", new.document, old.file, new.file, given))
