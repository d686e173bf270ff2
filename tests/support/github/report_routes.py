"""Routes of checks, comments, deployments, releases and webhooks of the stand-in for GitHub."""

from __future__ import annotations

from typing import Any

from tests.support.github import bare
from tests.support.github.facts import (
    Comment,
    Deployed,
    Hook,
    Released,
    Run,
    Status,
)
from tests.support.github.routing import REPO, Call, Reply, require, route

MAX_BODY = 65_536


@route("GET", "/user", "metadata: read")
def show_user(call: Call) -> Reply:
    require(not call.grant.is_app, 403, "Resource not accessible by integration")
    return Reply(200, _profile(call, call.grant.who))


@route("GET", "/user/{account_id}", "metadata: read")
def show_account(call: Call) -> Reply:
    number = call.number("account_id")
    login = call.world.accounts.get(number, "")
    require(login)
    return Reply(200, {**_profile(call, login), "id": number})


def _profile(call: Call, login: str) -> Any:
    counts = ("followers", "following", "public_gists", "public_repos")
    texts = ("bio", "blog", "company", "email", "hireable", "location", "name")
    return {
        **call.shapes.user(login), **dict.fromkeys(texts), **dict.fromkeys(counts, 0),
        "created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z",
    }  # fmt: skip


@route("GET", f"{REPO}/issues/{{issue_number}}/comments", "pull_requests: read")
def list_comments(call: Call) -> Reply:
    number = call.number("issue_number")
    found = [comment for comment in call.world.comments if comment.number == number]
    return Reply(200, [call.shapes.comment(comment) for comment in found])


@route("POST", f"{REPO}/issues/{{issue_number}}/comments", "pull_requests: write")
def create_comment(call: Call) -> Reply:
    pull, body = call.world.find_pull(call.number("issue_number")), call.body["body"]
    require(len(body) <= MAX_BODY, 422, "Validation Failed")
    comment = Comment(call.world.new_id(), pull.number, call.grant.who, body)
    call.world.comments.append(comment)
    return Reply(201, call.shapes.comment(comment))


@route("PATCH", f"{REPO}/issues/comments/{{comment_id}}", "pull_requests: write")
def change_comment(call: Call) -> Reply:
    number = call.number("comment_id")
    found = [comment for comment in call.world.comments if comment.id == number]
    require(found)
    found[0].body = call.body["body"]
    return Reply(200, call.shapes.comment(found[0]))


@route("POST", f"{REPO}/statuses/{{sha}}", "statuses: write")
def create_status(call: Call) -> Reply:
    body, commit = call.body, call.path["sha"]
    require(bare.has(call.world.repo.path, commit), 422, f"No commit found for SHA: {commit}")
    require(len(body.get("description") or "") <= 140, 422, "Validation Failed")
    status = Status(
        call.world.new_id(), commit, body["context"], body["state"], call.grant.who,
        body.get("description", ""), body.get("target_url", ""),
    )  # fmt: skip
    call.world.statuses.append(status)
    return Reply(201, {**call.shapes.status(status), "creator": call.shapes.user(call.grant.who)})


@route("GET", f"{REPO}/commits/{{ref}}/status", "statuses: read")
def show_status(call: Call) -> Reply:
    commit, newest = call.path["ref"], dict[str, Status]()
    for status in call.world.statuses:
        if status.commit == commit:
            newest[status.context] = status
    states = {status.state for status in newest.values()}
    failed = states & {"failure", "error"}
    state = "failure" if failed else "success" if states == {"success"} else "pending"
    url = f"{call.shapes.root}/commits/{commit}"
    return Reply(200, {
        "state": state, "sha": commit, "total_count": len(newest), "commit_url": url,
        "url": f"{url}/status", "repository": call.shapes.repo(call.world.repo),
        "statuses": [call.shapes.status(status) for status in newest.values()],
    })  # fmt: skip


@route("POST", f"{REPO}/check-runs", "checks: write")
def create_run(call: Call) -> Reply:
    require(call.grant.is_app, 403, "You must authenticate via a GitHub App.")
    commit = call.body["head_sha"]
    require(bare.has(call.world.repo.path, commit), 422, f"No commit found for SHA: {commit}")
    run = Run(call.world.new_id(), commit, call.body["name"])
    call.world.runs.append(run)
    return Reply(201, _change(call, run))


@route("PATCH", f"{REPO}/check-runs/{{check_run_id}}", "checks: write")
def change_run(call: Call) -> Reply:
    number = call.number("check_run_id")
    found = [run for run in call.world.runs if run.id == number]
    require(found)
    return Reply(200, _change(call, found[0]))


@route("GET", f"{REPO}/commits/{{ref}}/check-runs", "checks: read")
def list_runs(call: Call) -> Reply:
    newest = {run.name: run for run in call.world.runs if run.commit == call.path["ref"]}
    runs = [call.shapes.run(run) for run in newest.values()]
    return Reply(200, {"total_count": len(runs), "check_runs": runs})


def _change(call: Call, run: Run) -> Any:
    body = call.body
    run.conclusion = body.get("conclusion")
    run.status = "completed" if run.conclusion else body.get("status", "queued")
    run.url = body.get("details_url", run.url)
    output = dict(body.get("output") or {})
    annotations = output.pop("annotations", [])
    require(len(annotations) <= 50, 422, "Invalid request.\n\nNo more than 50 items are allowed.")
    require(all(len(text) <= 65_535 for text in output.values()), 422, "Invalid request.")
    run.annotations += annotations
    run.output = {**run.output, **output}
    return call.shapes.run(run)


@route("GET", f"{REPO}/deployments", "deployments: read")
def list_deployments(call: Call) -> Reply:
    wanted = call.query
    found = [
        each for each in reversed(call.world.deployments)
        if wanted.get("sha", each.commit) == each.commit
        and wanted.get("environment", each.environment) == each.environment
    ]  # fmt: skip
    return Reply(200, [call.shapes.deployment(each) for each in found])


@route("POST", f"{REPO}/deployments", "deployments: write")
def create_deployment(call: Call) -> Reply:
    body = call.body
    require(bare.has(call.world.repo.path, body["ref"]), 422, f"No ref found for: {body['ref']}")
    deployment = Deployed(
        call.world.new_id(), body["ref"], body.get("environment", "production"),
        body.get("transient_environment", False), body.get("production_environment", False),
        call.grant.who,
    )  # fmt: skip
    call.world.deployments.append(deployment)
    return Reply(201, call.shapes.deployment(deployment))


@route("POST", f"{REPO}/deployments/{{deployment_id}}/statuses", "deployments: write")
def create_deployment_status(call: Call) -> Reply:
    number = call.number("deployment_id")
    found = [each for each in call.world.deployments if each.id == number]
    require(found)
    deployment, body = found[0], call.body
    deployment.states.append(body)
    for each in call.world.deployments:
        is_earlier = each.id < deployment.id and each.environment == deployment.environment
        ends = body["state"] == "success" and not (each.is_transient or each.is_production)
        if is_earlier and ends:
            each.states.append({"state": "inactive"})
    return Reply(201, call.shapes.deployment_status(deployment))


@route("POST", f"{REPO}/releases", "contents: write")
def create_release(call: Call) -> Reply:
    body = call.body
    if any(release.tag == body["tag_name"] for release in call.world.releases):
        details = [{"resource": "Release", "code": "already_exists", "field": "tag_name"}]
        return Reply(422, {"message": "Validation Failed"}, details)
    release = Released(
        call.world.new_id(), body["tag_name"], body.get("target_commitish", "main"),
        body.get("name", ""), body.get("body", ""), call.grant.who,
    )  # fmt: skip
    call.world.releases.append(release)
    return Reply(201, call.shapes.release(release))


@route("GET", f"{REPO}/releases/tags/{{tag}}", "contents: read")
def show_release(call: Call) -> Reply:
    found = [release for release in call.world.releases if release.tag == call.path["tag"]]
    require(found)
    return Reply(200, call.shapes.release(found[0]))


@route("GET", f"{REPO}/hooks", "repository_hooks: read")
def list_hooks(call: Call) -> Reply:
    return Reply(200, [call.shapes.hook(hook) for hook in call.world.webhooks.hooks])


@route("POST", f"{REPO}/hooks", "repository_hooks: write")
def create_hook(call: Call) -> Reply:
    config = call.body["config"]
    known = [hook.url for hook in call.world.webhooks.hooks]
    require(config["url"] not in known, 422, "Hook already exists on this repository")
    hook = Hook(call.world.new_id(), config["url"], config["secret"], call.body["events"])
    call.world.webhooks.hooks.append(hook)
    return Reply(201, call.shapes.hook(hook))


@route("PATCH", f"{REPO}/hooks/{{hook_id}}", "repository_hooks: write")
def change_hook(call: Call) -> Reply:
    number, config = call.number("hook_id"), call.body["config"]
    found = [hook for hook in call.world.webhooks.hooks if hook.id == number]
    require(found)
    found[0].url, found[0].secret = config["url"], config["secret"]
    return Reply(200, call.shapes.hook(found[0]))
