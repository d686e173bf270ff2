"""Routes of statuses, comments, deployments, releases, users and webhooks of the stand-in."""

from __future__ import annotations

from tests.support.github import bare
from tests.support.github.facts import Comment, Deployed, Hook, Released, Status
from tests.support.github.routing import Reply, require
from tests.support.gitlab.routing import PROJECT, PULL, READ, WRITE, GitLabCall, route

EVENTS = ("push", "pull_request", "pull_request_review")
"""The events of a webhook, as the stand-ins name them."""

_STATUSES = f"{PROJECT}/repository/commits/{{sha}}/statuses"


@route("GET", "/v4/user", READ, "SimpleUserSchema")
def show_user(call: GitLabCall) -> Reply:
    return Reply(200, call.shapes.user(call.grant.who))


@route("GET", "/v4/users", READ, "SimpleUserSchema[]")
def find_users(call: GitLabCall) -> Reply:
    name, people = call.query["username"], {*call.world.accounts.values(), *call.world.repo.roles}
    found = [login for login in people if login.lower() == name.lower()]
    return Reply(200, [call.shapes.user(login) for login in found])


@route("GET", "/v4/users/{number}", READ, "SimpleUserSchema")
def show_user_of_id(call: GitLabCall) -> Reply:
    login = call.world.accounts.get(call.number("number"), "")
    require(login, 404, "404 User Not Found")
    return Reply(200, call.shapes.user(login))


@route("POST", f"{PULL}/notes", WRITE, "MergeRequestNoteSchema")
def create_note(call: GitLabCall) -> Reply:
    """Create a comment. A line with a command would be carried out."""
    number, body = call.pull().number, call.body["body"]
    _require_no_command(body)
    comment = Comment(call.world.new_id(), number, call.grant.who, body)
    call.world.comments.append(comment)
    return Reply(201, call.shapes.note(comment))


@route("PUT", f"{PULL}/notes/{{note_id}}", WRITE, "MergeRequestNoteSchema")
def change_note(call: GitLabCall) -> Reply:
    number, body = call.number("note_id"), call.body["body"]
    _require_no_command(body)
    found = [comment for comment in call.world.comments if comment.id == number]
    require(found, 404, "404 Note Not Found")
    found[0].body = body
    return Reply(200, call.shapes.note(found[0]))


def _require_no_command(body: str) -> None:
    assert not any(line.lstrip().startswith("/") for line in body.splitlines()), body


@route("POST", f"{PROJECT}/statuses/{{sha}}", WRITE, "CommitStatusSchema")
def create_status(call: GitLabCall) -> Reply:
    world, body, commit = call.world, call.body, call.path["sha"]
    call.require_level(30)
    require(bare.has(world.repo.path, commit), 404, "404 Commit Not Found")
    heads = [
        tip for name, tip in bare.refs(world.repo.path).items() if name.startswith("refs/heads/")
    ]
    is_on_branch = any(bare.is_ancestor(world.repo.path, commit, tip) for tip in heads)
    require(is_on_branch, 404, "404 References for commit Not Found")
    state = {"failed": "failure"}.get(body["state"], body["state"])
    mine = [
        each for each in world.statuses if (each.commit, each.context) == (commit, body["name"])
    ]
    is_repeated = state == "pending" and [each.state for each in mine[-1:]] == ["pending"]
    require(not is_repeated, 400, "Cannot transition status via :enqueue from :pending")
    status = Status(
        world.new_id(), commit, body["name"], state, call.grant.who,
        body.get("description", ""), body.get("target_url", ""),
    )  # fmt: skip
    world.statuses.append(status)
    return Reply(201, call.shapes.status(status))


@route("GET", _STATUSES, READ, "CommitStatusSchema[]")
def list_statuses(call: GitLabCall) -> Reply:
    commit = call.path["sha"]
    found = [each for each in call.world.statuses if each.commit == commit]
    if call.query.get("all") != "true":
        found = list({each.context: each for each in found}.values())
    return Reply(200, [call.shapes.status(status) for status in found])


@route("GET", f"{PROJECT}/pipelines", READ, "PipelineSchema[]")
def list_pipelines(call: GitLabCall) -> Reply:
    world, commit = call.world, call.query["sha"]
    found = dict.fromkeys(world.jobs[job.id] for job in world.list_jobs(commit))
    return Reply(200, [call.shapes.pipeline(number, commit) for number in found])


@route("GET", f"{PROJECT}/pipelines/{{pipeline}}/jobs", READ, "JobSchema[]")
def list_jobs(call: GitLabCall) -> Reply:
    return Reply(200, _list_jobs(call, are_bridges=False))


@route("GET", f"{PROJECT}/pipelines/{{pipeline}}/bridges", READ, "BridgeSchema[]")
def list_bridges(call: GitLabCall) -> Reply:
    return Reply(200, _list_jobs(call, are_bridges=True))


def _list_jobs(call: GitLabCall, *, are_bridges: bool) -> list[dict[str, object]]:
    """Return the jobs of a pipeline; a newer status of a job's name has replaced the job."""
    world, pipeline = call.world, call.number("pipeline")
    newest = {(each.commit, each.context): each.id for each in world.statuses}
    has_replaced = not are_bridges and call.query.get("include_retried") == "true"
    return [
        call.shapes.job(job) for job in world.statuses
        if world.jobs.get(job.id) == pipeline
        and job.context.startswith("trigger") is are_bridges
        and (has_replaced or newest[job.commit, job.context] == job.id)
    ]  # fmt: skip


@route("GET", f"{PROJECT}/deployments", READ, "DeploymentSchema[]")
def list_deployments(call: GitLabCall) -> Reply:
    name = call.query["environment"]
    found = [each for each in call.world.deployments if each.environment == name]
    return Reply(200, [call.shapes.deployment(each) for each in reversed(found)])


@route("POST", f"{PROJECT}/deployments", WRITE, "DeploymentSchema")
def create_deployment(call: GitLabCall) -> Reply:
    world, body = call.world, call.body
    call.require_level(30)
    name = body["environment"]
    is_allowed = all(letter.isalnum() or letter in "-_/${}. " for letter in name)
    require(is_allowed, 400, "name can contain only letters, digits, '-', '_', '/' and spaces")
    deployed = Deployed(
        world.new_id(), body["sha"], name, is_transient=False,
        is_production=name == "production", who=call.grant.who, states=[{"state": body["status"]}],
    )  # fmt: skip
    world.find_environment(name).is_stopped = False
    world.deployments.append(deployed)
    return Reply(201, call.shapes.deployment(deployed))


@route("GET", f"{PROJECT}/deployments/{{deployment_id}}", READ, "DeploymentSchema")
def show_deployment(call: GitLabCall) -> Reply:
    number = call.number("deployment_id")
    found = [each for each in call.world.deployments if each.id == number]
    require(found, 404, "404 Not found")
    return Reply(200, call.shapes.deployment(found[0]))


@route("PUT", f"{PROJECT}/environments/{{environment_id}}", WRITE, "CondensedEnvironmentSchema")
def change_environment(call: GitLabCall) -> Reply:
    number = call.number("environment_id")
    found = [each for each in call.world.environments if each.id == number]
    require(found, 404, "404 Not found")
    found[0].url = call.body["external_url"]
    return Reply(200, call.shapes.environment(found[0]))


@route(
    "POST", f"{PROJECT}/environments/{{environment_id}}/stop", WRITE, "CondensedEnvironmentSchema"
)
def stop_environment(call: GitLabCall) -> Reply:
    number = call.number("environment_id")
    found = [each for each in call.world.environments if each.id == number]
    require(found, 404, "404 Not found")
    found[0].is_stopped = True
    return Reply(200, call.shapes.environment(found[0]))


@route("POST", f"{PROJECT}/releases", WRITE, "ReleaseSchema")
def create_release(call: GitLabCall) -> Reply:
    body = call.body
    call.require_level(30)
    is_new = all(release.tag != body["tag_name"] for release in call.world.releases)
    require(is_new, 409, "Release already exists")
    release = Released(
        call.world.new_id(), body["tag_name"], body["ref"], body["name"], body["description"],
        call.grant.who,
    )  # fmt: skip
    call.world.releases.append(release)
    return Reply(201, call.shapes.release(release))


@route("GET", f"{PROJECT}/releases/{{tag}}", READ, "ReleaseSchema")
def show_release(call: GitLabCall) -> Reply:
    found = [release for release in call.world.releases if release.tag == call.path["tag"]]
    require(found, 404, "404 Not Found")
    return Reply(200, call.shapes.release(found[0]))


@route("GET", f"{PROJECT}/hooks", READ, "ExpandedHookSchema[]")
def list_hooks(call: GitLabCall) -> Reply:
    call.require_level(40)
    return Reply(200, [call.shapes.hook(hook) for hook in call.world.webhooks.hooks])


@route("POST", f"{PROJECT}/hooks", WRITE, "ExpandedHookSchema")
def create_hook(call: GitLabCall) -> Reply:
    call.require_level(40)
    hook = Hook(call.world.new_id(), call.body["url"], call.body["token"], EVENTS)
    call.world.webhooks.hooks.append(hook)
    return Reply(201, call.shapes.hook(hook))


@route("PUT", f"{PROJECT}/hooks/{{hook_id}}", WRITE, "ExpandedHookSchema")
def change_hook(call: GitLabCall) -> Reply:
    call.require_level(40)
    number = call.number("hook_id")
    found = [hook for hook in call.world.webhooks.hooks if hook.id == number]
    require(found, 404, "404 Not found")
    found[0].url, found[0].secret = call.body["url"], call.body["token"]
    return Reply(200, call.shapes.hook(found[0]))
