"""Users sign in at a provider on a real server: at what is live, and at a draft."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.conftest import ENV
from tests.support.drafting import answered
from tests.support.patience import PATIENCE_SECONDS, wait_for
from tests.support.provider import SECRET, TestProvider
from tests.support.served import Served, git
from tests.support.sign_in import project
from tests.support.small_project import write_project

pytestmark = pytest.mark.long


@pytest.fixture
def there() -> Iterator[TestProvider]:
    provider = TestProvider()
    yield provider
    provider.close()


@pytest.fixture
def served(there: TestProvider, tmp_path: Path) -> Iterator[Served]:
    folder, settings = tmp_path / "shop", tmp_path / "server.yaml"
    files = project(there)
    text = files["project.yaml"].replace("cookie: {}", "cookie: { secure: false }")
    lines = [line for line in text.splitlines(keepends=True) if "APPLE_KEY" not in line]
    files["project.yaml"] = "".join(lines)
    write_project(folder, files)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    git(folder, "branch", "topic")
    settings.write_text("egress: { allow: [127.0.0.1] }\n")
    values = ENV | {"CLIENT_SECRET": SECRET}
    with Served(folder, tmp_path / "home", "--settings", str(settings), env=values) as found:
        found.live()
        yield found


def start(client: httpx.Client, prefix: str = "") -> str:
    """Go to the provider; return the address to which it sends the browser back."""
    answer = client.get(f"{prefix}/~auth/corp", params={"return": "/api/me"})
    assert answer.status_code == 303, answer.text
    return str(httpx.get(answer.headers["location"], timeout=PATIENCE_SECONDS).headers["location"])


def test_a_user_signs_in_and_is_known(served: Served, there: TestProvider) -> None:
    back = start(served.api)
    assert back.startswith(f"{served.serving['url']}/~auth/corp/callback?")
    assert httpx.get(back, timeout=PATIENCE_SECONDS).status_code == 400  # another browser
    answer = served.api.get(back, follow_redirects=True)
    assert (answer.status_code, answer.json()) == (200, 1)
    assert [one.status_code for one in answer.history] == [303]
    served.api.cookies.clear()
    assert served.api.get(back).status_code == 400
    code = dict(one.split("=") for one in urlsplit(back).query.split("&"))["code"]
    log = (served.home / "log").read_text()
    listed = "/api/projects/sample/requests"
    wait_for(lambda: "callback" in served.control.get(listed).text)
    lines = served.control.get(listed).text
    for hidden in (SECRET, f"code={code}", "state="):
        assert hidden not in log
        assert hidden not in lines


def test_a_sign_in_that_began_at_a_draft_ends_there(served: Served) -> None:
    listed = served.bbops("drafts", "token", "topic", "--json")
    token = json.loads(listed.stdout)["token"]
    (draft,) = served.control.get("/api/projects/sample/drafts").json()
    state = str(served.repository / ".bbops/state")
    prefix = f"/~drafts/{draft['slug']}"
    given = "CLIENT_SECRET", SECRET, "--drafts", "--state", state
    done = served.bbops("env", "set", *given)
    assert done.returncode == 0, done.stderr
    headers = {"x-draft-token": token}
    with httpx.Client(
        base_url=served.serving["url"], headers=headers, timeout=PATIENCE_SECONDS
    ) as browser:
        answer = answered(lambda: browser.get(f"{prefix}/~auth/corp"))
        assert answer.status_code == 303, answer.text
        back = httpx.get(answer.headers["location"], timeout=PATIENCE_SECONDS).headers["location"]
        assert f"{prefix}/~auth/corp/callback" in back
        at_live = back.replace(prefix, "")
        assert browser.get(at_live).status_code == 400
        answer = browser.get(back)
        assert (answer.status_code, prefix in answer.headers["location"]) == (303, True)
    assert served.api.get("/api/me").status_code == 401
