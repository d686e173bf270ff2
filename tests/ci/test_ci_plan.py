"""`bbops ci plan` in real repositories: pull requests, merge queues, pushes and clones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.actions_runner import read_commands
from tests.support.ci_jobs import (
    NUMBER,
    Forge,
    Job,
    actions_job,
    forge,
    git,
    pull_request_job,
    push_job,
    repository,
)
from tests.support.planning import starting_files

__all__ = ["forge"]

USERS = "endpoints/users.yaml"
ORDERS = "endpoints/orders.yaml"
GUARDED = "GET /users: needs JWT, it was open"


def guard_users(forge: Forge) -> str:
    return forge.change(USERS, "None", "JWT")


def add_table(forge: Forge, name: str = "tags") -> str:
    column = "columns:\n  id: { type: integer, primaryKey: true, auto: increment }\n"
    return forge.commit({f"tables/{name}.yaml": column}, f"Add {name}")


@pytest.fixture
def proposed(forge: Forge) -> Forge:
    """A branch `topic` that breaks clients, while main has changed, too."""
    forge.branch("topic")
    guard_users(forge)
    forge.branch("main")
    add_table(forge)
    return forge


# ---- proposals
def test_pull_request_shows_its_own_effects_only(proposed: Forge, tmp_path: Path) -> None:
    job = pull_request_job(tmp_path / "job", proposed, "topic")
    done = job.run("plan")
    assert done.exit_code == 0, done.output
    assert GUARDED in done.stdout
    assert "tags" not in done.stdout
    main, topic = proposed.id_of("main")[:12], proposed.id_of("topic")[:12]
    assert f"main {main} → topic {topic}" in done.stdout
    assert (job.outputs["changes"], job.outputs["breaking"]) == ("1", "1")
    assert job.summary.startswith("### Plan: 1 break, 1 route, 1 file\n")


def test_merge_is_computed_again_if_main_has_moved(proposed: Forge, tmp_path: Path) -> None:
    job = pull_request_job(tmp_path / "job", proposed, "topic")
    add_table(proposed, "later")
    git(job.folder, "fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
    done = job.run("plan")
    assert done.exit_code == 0, done.output
    assert f"main {proposed.id_of('main')[:12]} → topic" in done.stdout
    assert "later" not in done.stdout
    assert GUARDED in done.stdout


def test_head_of_a_pull_request_is_merged_here(proposed: Forge, tmp_path: Path) -> None:
    merged = pull_request_job(tmp_path / "github", proposed, "topic")
    merged.run("plan")
    job = gitea_job(tmp_path / "gitea", proposed, "topic")
    done = job.run("plan")
    assert done.exit_code == 0, done.output
    assert "tags" not in done.stdout
    assert job.outputs["plan-hash"] == merged.outputs["plan-hash"]


def gitea_job(folder: Path, forge: Forge, branch: str, *, branches: bool = True) -> Job:
    """Return a job with the head of a pull request checked out, as in Gitea Actions."""
    forge.open_pull_request(branch)
    job = actions_job(folder, "pull_request", GITEA_ACTIONS="true", GITHUB_BASE_REF=forge.main)
    sides = {"head": {"ref": branch, "sha": forge.id_of(branch)},
             "base": {"ref": forge.main, "sha": forge.id_of(forge.main)}}  # fmt: skip
    job.write_event({"pull_request": {"number": NUMBER, **sides}, **repository(forge)})
    job.check_out(forge.url, f"refs/pull/{NUMBER}/head", branches=branches)
    return job


@pytest.mark.parametrize("under", ["services/shop", ".services/shop"])
def test_folder_of_a_monorepo_has_its_own_plan(tmp_path: Path, under: str) -> None:
    forge = Forge(tmp_path / "forge", under)
    forge.create()
    (forge.root / "other.txt").write_text("one\n")
    forge.branch("topic")
    guard_users(forge)
    job = pull_request_job(tmp_path / "job", forge, "topic")
    done = job.run("plan")
    assert (done.exit_code, job.outputs["breaking"]) == (0, "1")
    name = under.replace("/", "--")
    assert (tmp_path / "job/temp/bbops-ci" / name / "plan.json").is_file()


def test_target_with_another_name_is_found(tmp_path: Path) -> None:
    forge = Forge(tmp_path / "forge", main="trunk")
    forge.create()
    forge.branch("topic")
    guard_users(forge)
    done = pull_request_job(tmp_path / "job", forge, "topic").run("plan")
    assert done.exit_code == 0, done.output
    assert "trunk " in done.stdout


def test_pull_request_of_a_fork_needs_nothing_else(proposed: Forge, tmp_path: Path) -> None:
    job = pull_request_job(tmp_path / "job", proposed, "topic", source="bob/shop")
    assert job.run("plan").exit_code == 0


@pytest.mark.parametrize("branch", [
    "x$(touch${IFS}pwned)`id`", "a'b\"c", "<img/src=x>|@all", "ünïcode/🚀", "##", "&&true",
    "}}|${{github.token}}",
])  # fmt: skip
def test_hostile_branch_name_stays_text(forge: Forge, tmp_path: Path, branch: str) -> None:
    git(forge.root, "switch", "-qc", branch)
    guard_users(forge)
    job = pull_request_job(tmp_path / "job", forge, branch)
    done = job.run("plan")
    assert done.exit_code == 0, done.output
    assert f"→ {branch} " in done.stdout
    assert read_commands(done.stdout) == []
    assert "<img" not in job.summary
    assert not list(tmp_path.rglob("pwned"))


# ---- merge queues
def test_merge_queue_compares_with_the_group_before(proposed: Forge, tmp_path: Path) -> None:
    queue = "gh-readonly-queue/main/pr-12-" + proposed.id_of("main")
    before = proposed.id_of("main")
    merge = proposed.open_pull_request("topic")
    git(proposed.root, "branch", queue, merge)
    job = actions_job(tmp_path / "job", "merge_group", GITHUB_SHA=merge)
    group = {"head_sha": merge, "head_ref": f"refs/heads/{queue}", "base_sha": before,
             "base_ref": "refs/heads/main"}  # fmt: skip
    job.write_event({"merge_group": group, **repository(proposed)})
    job.check_out(proposed.url, f"refs/heads/{queue}")
    done = job.run("plan")
    assert done.exit_code == 0, done.output
    assert GUARDED in done.stdout
    assert job.outputs["breaking"] == "1"


# ---- pushes
def test_push_is_compared_with_the_commit_before(forge: Forge, tmp_path: Path) -> None:
    before = forge.id_of("main")
    add_table(forge)
    guard_users(forge)
    job = push_job(tmp_path / "job", forge, "main", before)
    done = job.run("plan")
    assert done.exit_code == 0, done.output
    assert "tags" in done.stdout
    assert GUARDED in done.stdout


def test_new_branch_is_compared_with_main(proposed: Forge, tmp_path: Path) -> None:
    job = push_job(tmp_path / "job", proposed, "topic", "0" * 40)
    done = job.run("plan")
    assert (done.exit_code, "tags" in done.stdout) == (0, False)
    assert GUARDED in done.stdout


def test_manual_run_on_main_shows_the_last_commit(forge: Forge, tmp_path: Path) -> None:
    guard_users(forge)
    job = push_job(tmp_path / "job", forge, "main", "0" * 40)
    job.env["GITHUB_EVENT_NAME"] = "workflow_dispatch"
    assert GUARDED in job.run("plan").stdout


def test_forced_push_falls_back_to_the_parent(forge: Forge, tmp_path: Path) -> None:
    guard_users(forge)
    job = push_job(tmp_path / "job", forge, "main", "d" * 40)
    assert GUARDED in job.run("plan").stdout


def test_other_repository_is_compared_with_its_own_main(forge: Forge, tmp_path: Path) -> None:
    job = push_job(tmp_path / "job", forge, "main", "0" * 40)
    other = Forge(tmp_path / "job/checkout/other")
    other.create(starting_files() | {"README.md": "Another history\n"})
    text = (other.folder / USERS).read_text()
    (other.folder / USERS).write_text(text.replace("None", "JWT"))
    job.under = "other"
    done = job.run("plan")
    assert (done.exit_code, "→ this folder" in done.stdout) == (0, True), done.output
    assert GUARDED in done.stdout


def test_first_push_has_nothing_to_compare_with(forge: Forge, tmp_path: Path) -> None:
    job = push_job(tmp_path / "job", forge, "main", "0" * 40)
    done = job.run("plan")
    assert done.exit_code == 0, done.output
    assert "the project is new: there is nothing to compare it with" in done.stdout
    assert (job.outputs["changes"], job.outputs["plan-hash"]) == ("1", "")


def test_project_that_the_change_adds_is_new(tmp_path: Path) -> None:
    forge = Forge(tmp_path / "forge")
    forge.create({"README.md": "Hello\n"})
    forge.branch("topic")
    forge.under = "shop"
    forge.commit({"project.yaml": "bbops: 1\nname: shop\n"})
    job = pull_request_job(tmp_path / "job", forge, "topic")
    done = job.run("plan")
    assert (done.exit_code, "the project is new" in done.stdout) == (0, True)


def test_unchanged_project_exits_with_0(forge: Forge, tmp_path: Path) -> None:
    forge.commit({"README.md": "More\n"})
    job = push_job(tmp_path / "job", forge, "main", forge.id_of("main~1"))
    assert job.run("plan").exit_code == 0
    assert (job.outputs["changes"], job.outputs["breaking"]) == ("0", "0")


# ---- conflicts
@pytest.fixture
def conflicting(forge: Forge) -> Forge:
    """A branch `topic` and main with different changes of one line."""
    forge.branch("topic")
    guard_users(forge)
    forge.branch("main")
    forge.change(USERS, "None", "'API Key'")
    return forge


def test_conflict_exits_with_1_and_names_the_files(conflicting: Forge, tmp_path: Path) -> None:
    git(conflicting.root, "update-ref", f"refs/pull/{NUMBER}/merge", "topic")
    job = conflict_job(tmp_path / "job", conflicting)
    done = job.run("plan")
    assert done.exit_code == 1
    assert f"{USERS}: merge conflict" in done.stdout
    assert GUARDED in done.stdout
    assert job.summary.startswith("### Plan: merge conflict; 1 break")
    assert f"- `{USERS}`" in job.summary


def conflict_job(folder: Path, forge: Forge) -> Job:
    job = actions_job(folder, "pull_request")
    sides = {"head": {"ref": "topic", "sha": forge.id_of("topic")},
             "base": {"ref": "main", "sha": forge.id_of("main")}}  # fmt: skip
    job.write_event({"pull_request": {"number": NUMBER, **sides}, **repository(forge)})
    job.check_out(forge.url, "refs/heads/topic")
    return job


# ---- clones without history
def test_shallow_clone_of_the_merge_needs_only_its_parents(proposed: Forge, tmp_path: Path) -> None:
    job = pull_request_job(tmp_path / "job", proposed, "topic", depth=2)
    done = job.run("plan")
    assert (done.exit_code, GUARDED in done.stdout) == (0, True), done.output


@pytest.mark.parametrize(("system", "fix"), [
    ({}, "set 'fetch-depth: 0' for actions/checkout"),
    ({"GITEA_ACTIONS": "true"}, "set 'fetch-depth: 0' for actions/checkout"),
])  # fmt: skip
def test_clone_without_the_target_exits_with_2_and_the_fix(
    proposed: Forge, tmp_path: Path, system: dict[str, str], fix: str
) -> None:
    job = pull_request_job(tmp_path / "job", proposed, "topic", depth=1)
    job.env |= system
    done = job.run("plan")
    assert done.exit_code == 2
    assert "is not in this clone" in done.stderr
    assert fix in done.stderr


def test_shallow_clone_of_a_push_names_the_fix(forge: Forge, tmp_path: Path) -> None:
    before = forge.id_of("main")
    add_table(forge)
    done = push_job(tmp_path / "job", forge, "main", before, depth=1).run("plan")
    assert done.exit_code == 2
    assert "fetch-depth: 0" in done.stderr


def test_clone_without_files_names_the_fix(proposed: Forge, tmp_path: Path) -> None:
    git(proposed.root, "config", "uploadpack.allowFilter", "true")
    command = ("clone", "-q", "--filter=blob:none", "--branch=topic", proposed.url, "clone")
    git(tmp_path, *command)
    done = Job(tmp_path / "clone").run("plan", "--commit", "topic")
    assert done.exit_code == 2
    assert "this clone lacks files of older commits" in done.stderr
    assert "leave 'filter' out of the checkout" in done.stderr


def gitlab_job(folder: Path, forge: Forge, *, depth: int = 0) -> Job:
    folder.mkdir()
    job = Job(folder / "checkout", env={
        "GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "12", "CI_COMMIT_SHA": forge.id_of("topic"),
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(forge.root, "merge-base", "main", "topic"),
    })  # fmt: skip
    job.folder.mkdir()
    job.check_out(forge.url, "refs/heads/topic", depth=depth)
    return job


def test_gitlab_compares_with_the_base_that_it_names(proposed: Forge, tmp_path: Path) -> None:
    done = gitlab_job(tmp_path / "job", proposed, depth=20).run("plan")
    assert (done.exit_code, GUARDED in done.stdout) == (0, True), done.output
    assert "tags" not in done.stdout
    assert "::stop-commands::" not in done.stdout


def test_gitlab_clone_without_history_names_the_fix(proposed: Forge, tmp_path: Path) -> None:
    done = gitlab_job(tmp_path / "job", proposed, depth=1).run("plan")
    assert done.exit_code == 2
    assert "GIT_DEPTH: 0" in done.stderr


def test_jenkins_merges_the_change_here(proposed: Forge, tmp_path: Path) -> None:
    job = Job(tmp_path / "jenkins", env={
        "JENKINS_URL": "https://jenkins.example.org", "CHANGE_ID": "12", "CHANGE_TARGET": "main",
        "CHANGE_BRANCH": "topic", "GIT_COMMIT": proposed.id_of("topic"), "BRANCH_NAME": "PR-12",
    })  # fmt: skip
    job.folder.mkdir()
    job.check_out(proposed.url, "refs/heads/topic")
    done = job.run("plan")
    assert (done.exit_code, GUARDED in done.stdout) == (0, True), done.output
    assert "tags" not in done.stdout


def test_histories_without_a_common_commit_are_rejected(forge: Forge, tmp_path: Path) -> None:
    git(forge.root, "switch", "-q", "--orphan", "topic")
    forge.commit({"project.yaml": "bbops: 1\nname: shop\n"})
    job = conflict_job(tmp_path / "job", forge)
    done = job.run("plan")
    assert done.exit_code == 2
    assert "'main' and the change have no common history" in done.stderr


# ---- options, and a user's own machine
def test_without_a_ci_system_the_folder_is_compared_with_main(forge: Forge) -> None:
    text = (forge.folder / USERS).read_text()
    (forge.folder / USERS).write_text(text.replace("None", "JWT"))
    done = Job(forge.root).run("plan")
    assert (done.exit_code, "→ this folder" in done.stdout) == (0, True)
    assert GUARDED in done.stdout
    assert (forge.folder / ".bbops/ci/plan.json").is_file()
    assert (forge.folder / ".bbops/.gitignore").read_text() == "*\n"
    assert git(forge.root, "status", "--short") == f"M {USERS}"


def test_base_and_commit_choose_the_two_sides(forge: Forge) -> None:
    git(forge.root, "tag", "v1")
    guard_users(forge)
    done = Job(forge.root).run("plan", "--base", "v1", "--commit", "main")
    assert (done.exit_code, GUARDED in done.stdout) == (0, True)
    assert done.stdout.startswith("v1 ")


def test_later_commits_of_a_chosen_commit_do_not_count(forge: Forge) -> None:
    forge.branch("topic")
    guard_users(forge)
    chosen = forge.id_of("topic")
    forge.branch("main")
    forge.commit({"README.md": "More\n"})
    forge.branch("topic")
    git(forge.root, "merge", "-q", "main", "-m", "Merge")
    add_table(forge, "later")
    done = Job(forge.root).run("plan", "--commit", chosen)
    assert (done.exit_code, GUARDED in done.stdout) == (0, True)
    assert "later" not in done.stdout


@pytest.mark.parametrize("option", ["--base", "--commit"])
def test_option_that_begins_with_a_hyphen_is_rejected(forge: Forge, option: str) -> None:
    done = Job(forge.root).run("plan", f"{option}=--all")
    assert (done.exit_code, "it begins with '-'" in done.stderr) == (2, True)


def test_unknown_revision_exits_with_2(forge: Forge) -> None:
    done = Job(forge.root).run("plan", "--base", "nope")
    assert (done.exit_code, "commit 'nope' is not in this clone" in done.stderr) == (2, True)
    assert "--base REV" in done.stderr


def test_chosen_severity_fails_the_job(proposed: Forge, tmp_path: Path) -> None:
    job = pull_request_job(tmp_path / "job", proposed, "topic")
    assert job.run("plan", "--fail-on", "destructive").exit_code == 0
    done = job.run("plan", "--fail-on", "destructive", "--fail-on", "breaking")
    assert done.exit_code == 1
    assert "failed: --fail-on breaking" in done.stdout


def test_json_is_the_result_that_is_kept(proposed: Forge, tmp_path: Path) -> None:
    job = pull_request_job(tmp_path / "job", proposed, "topic")
    found = json.loads(job.run("plan", "--json").stdout)
    assert found == json.loads((tmp_path / "job/temp/bbops-ci/root/plan.json").read_text())
    assert found["commit"] == proposed.id_of("topic")
    assert found["document"]["digest"] == job.outputs["plan-hash"]


def test_markdown_goes_to_a_file(proposed: Forge, tmp_path: Path) -> None:
    job = pull_request_job(tmp_path / "job", proposed, "topic")
    job.run("plan", "--markdown", str(tmp_path / "plan.md"))
    assert (tmp_path / "plan.md").read_text().startswith("### Plan: 1 break")


def test_invalid_project_exits_with_1_and_its_errors(forge: Forge, tmp_path: Path) -> None:
    forge.branch("topic")
    forge.commit({USERS: "method: GET\n"})
    job = pull_request_job(tmp_path / "job", forge, "topic")
    done = job.run("plan")
    assert done.exit_code == 1
    assert "has errors, so nothing can be compared:" in done.stderr
    assert "has errors, so nothing can be compared" in job.summary.partition("\n")[0]
    assert f"`{USERS}:1`" in job.summary
    assert f"{USERS}:1:1: error: 'path' is missing [missing-key]" in done.stderr
    assert read_commands(done.stderr) == []


def test_failed_plan_leaves_no_earlier_result(forge: Forge) -> None:
    job = Job(forge.root)
    assert job.run("plan").exit_code == 0
    assert job.run("plan", "--base", "nope").exit_code == 2
    assert not (forge.folder / ".bbops/ci/plan.json").exists()


def test_folder_outside_a_repository_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "project.yaml").write_text("bbops: 1\nname: shop\n")
    done = Job(tmp_path).run("plan")
    assert (done.exit_code, "is in no git repository" in done.stderr) == (2, True)
