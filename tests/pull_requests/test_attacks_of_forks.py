"""Attacks by a pull request from a fork, whose author has no right in the repository."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.support.github.facts import Comment, Pull
from tests.support.on_github import OnGitHub, OnGitLab
from tests.support.patience import wait_for
from tests.support.served import git
from tests.support.small_project import FILES, endpoint, hello

VALUE = "the-secret-of-this-server-4711"
NAMES = itertools.count(1)


@pytest.fixture(scope="module", params=[OnGitHub, pytest.param(OnGitLab, marks=pytest.mark.long)])
def shop(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[OnGitHub]:
    """A server whose project is on a forge, with a secret value."""
    server: OnGitHub = request.param(tmp_path_factory.mktemp("shop"))
    done = server.bbops("env", "set", "SECRET", "--project", "shop", stdin=VALUE)
    assert done.returncode == 0, done.stderr
    yield server
    server.stop()


def attack(shop: OnGitHub, files: dict[str, str], branch: str = "") -> Pull:
    """Open the pull request of a stranger."""
    name = branch or f"patch-{next(NAMES)}"
    return shop.propose(name, files, home=shop.world.fork("mallory"), who="mallory")


def comment_on(shop: OnGitHub, pull: Pull) -> str:
    """Return the server's comment once it is about the head; statuses come before it, if any."""
    if shop.shows_statuses(pull):
        wait_for(lambda: len(shop.statuses(pull.head)) == 2)
    (found,) = wait_for(lambda: [
        comment.body for comment in shop.world.comments
        if comment.number == pull.number and comment.who == "bbops-bot"
        and f"`{pull.head[:12]}`" in comment.body
    ])  # fmt: skip
    return found


def test_values_of_the_server_are_in_no_comment_and_no_status(shop: OnGitHub) -> None:
    text = FILES["functions/hello.yaml"].replace("env.GREETING", "env.SECRET")
    pull = attack(shop, {"functions/hello.yaml": text})
    assert VALUE not in comment_on(shop, pull)
    statuses = [status for status in shop.world.statuses if status.commit == pull.head]
    assert all(VALUE not in status.description for status in statuses)


def test_the_marker_in_a_comment_of_a_stranger_means_nothing(shop: OnGitHub) -> None:
    pull = attack(shop, hello(2))
    fake = Comment(shop.world.new_id(), pull.number, "mallory", "<!-- bbops: shop -->\nApproved!")
    shop.world.comments.append(fake)
    shop.push(pull.branch, hello(3), pull.home)
    comment_on(shop, pull)
    assert fake.body == "<!-- bbops: shop -->\nApproved!"


def test_markup_and_commands_in_names_reach_no_page_and_no_shell(shop: OnGitHub) -> None:
    branch = "x<b>y</b>-$(touch${IFS}pwned)`id`&;'\""
    pull = attack(shop, hello(2), branch)
    pull.title = "<script>alert(1)</script> ![x](https://evil.example/pixel) @everyone"
    text = comment_on(shop, pull)
    assert "<b>" not in text
    assert "evil.example" not in text
    assert not [*shop.folder.rglob("pwned")]
    page = shop.control.get("/projects/shop/proposals", headers={"accept": "text/html"}).text
    assert "<script>alert(1)" not in page
    assert "<b>y</b>" not in page


def test_many_errors_fit_into_one_comment(shop: OnGitHub) -> None:
    files = {f"functions/bad{number}.yaml": "steps:\n  - nothing: 1\n" for number in range(400)}
    pull = attack(shop, files)
    text = comment_on(shop, pull)
    assert len(text) < 65_536
    assert "400 errors" in text
    shop.world.close(pull.number)


def test_commands_in_names_are_shown_as_text(shop: OnGitHub) -> None:
    name = "functions/\n/merge\n.yaml"
    pull = attack(shop, {name: 'steps:\n  - "\\n/approve\\n": 1\n'})
    pull.title, pull.body = "/merge", "/approve\n/merge"
    lines = comment_on(shop, pull).splitlines()
    assert not [line for line in lines if line.lstrip().startswith("/")]
    shop.world.close(pull.number)


def test_a_changed_workflow_runs_nowhere(shop: OnGitHub) -> None:
    workflow = "on: pull_request_target\njobs: { x: { steps: [{ run: env }] } }\n"
    pipeline = "x: { script: [env] }\n"
    files = {".github/workflows/bbops.yml": workflow, ".gitlab-ci.yml": pipeline}
    pull = attack(shop, {**files, **hello(2)})
    comment_on(shop, pull)
    assert shop.version() == 1


def test_objects_of_a_fork_stay_out_of_the_mirror(shop: OnGitHub) -> None:
    pull = attack(shop, hello(2))
    comment_on(shop, pull)
    state = shop.state / "projects" / "shop"
    assert git(state / "pull-heads", "cat-file", "-t", pull.head) == "commit"
    with pytest.raises(Exception, match="cat-file"):
        git(state / "mirror", "cat-file", "-t", pull.head)


@pytest.mark.long
def test_many_files_delay_no_publication_and_no_other_pull_request(shop: OnGitHub) -> None:
    own = shop.propose("own", hello(4))
    shop.until_checked(own, "success", "success")
    steps = "".join(f"  - set: {{ v{number}: '${{ 1 + 2 * 3 }}' }}\n" for number in range(60))
    files = {f"functions/f{number}.yaml": f"steps:\n{steps}" for number in range(2_000)}
    pull = attack(shop, files)
    wait_for(lambda: any(each["number"] == pull.number for each in shop.control.get(
        "/api/projects/shop/pulls"
    ).json()["pulls"]))  # fmt: skip
    other = {
        "functions/other.yaml": FILES["functions/hello.yaml"],
        "endpoints/other.yaml": endpoint("GET", "/other", "other"),
    }
    shop.push("main", other)
    wait_for(lambda: shop.api.get("/other").status_code == 200)
    assert not shop.statuses(pull.head)
    shop.world.close(pull.number)
    shop.world.close(own.number)


def test_nothing_of_all_this_went_live(shop: OnGitHub) -> None:
    assert shop.version() == 1
    forks = [pull for pull in shop.world.pulls if pull.home is not None]
    assert not any(shop.deployed(f"preview/{pull.number}") for pull in forks)
