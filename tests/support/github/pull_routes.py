"""Routes of pull requests, reviews and rules of the stand-in for GitHub."""

from __future__ import annotations

from tests.support.forge_world.api_server import GRAPHQL
from tests.support.github import bare
from tests.support.github.routing import REPO, Call, Reply, require, route
from tests.support.github.world import Refused

READ, WRITE = "pull_requests: read", "pull_requests: write"


@route("GET", REPO, "metadata: read")
def show_repo(call: Call) -> Reply:
    return Reply(200, call.shapes.repo(call.world.repo))


@route("GET", f"{REPO}/pulls", READ)
def list_pulls(call: Call) -> Reply:
    query, found = call.query, list(call.world.pulls)
    state = query.get("state", "open")
    found = [pull for pull in found if state in {"all", pull.state}]
    if "base" in query:
        found = [pull for pull in found if pull.target == query["base"]]
    if "head" in query:
        owner, _, branch = query["head"].partition(":")
        found = [
            pull for pull in found
            if pull.branch == branch and (pull.home or call.world.repo).owner == owner
        ]  # fmt: skip
    if query.get("direction", "desc") == "desc":
        found.reverse()
    return Reply(200, [call.shapes.pull(pull) for pull in found])


@route("POST", f"{REPO}/pulls", WRITE)
def open_pull(call: Call) -> Reply:
    body = call.body
    owner, colon, branch = body["head"].rpartition(":")
    home = None
    if colon and owner != call.world.repo.owner:
        home = next((fork for fork in call.world.forks.values() if fork.owner == owner), None)
    pull = call.world.open_pull(
        call.grant.who, branch, body["title"], target=body["base"], body=body.get("body") or "",
        home=home, is_draft=body.get("draft", False),
    )  # fmt: skip
    return Reply(201, call.shapes.full_pull(pull))


@route("GET", f"{REPO}/pulls/{{pull_number}}", READ)
def show_pull(call: Call) -> Reply:
    return Reply(200, call.shapes.full_pull(call.world.find_pull(call.number("pull_number"))))


@route("PATCH", f"{REPO}/pulls/{{pull_number}}", WRITE)
def change_pull(call: Call) -> Reply:
    pull = call.world.find_pull(call.number("pull_number"))
    if call.body.get("state") == "closed":
        call.world.close(pull.number)
    return Reply(200, call.shapes.full_pull(pull))


@route("PUT", f"{REPO}/pulls/{{pull_number}}/merge", "contents: write")
def merge_pull(call: Call) -> Reply:
    body = call.body or {}
    method, head = body.get("merge_method", "merge"), body.get("sha", "")
    commit = call.world.merge(call.number("pull_number"), call.grant.who, method, head)
    message = "Pull Request successfully merged"
    return Reply(200, {"sha": commit, "merged": True, "message": message})


@route("POST", GRAPHQL, "metadata: read")
def mutate(call: Call) -> Reply:
    """Carry out `enqueuePullRequest`, the one mutation of the stand-in."""
    require("enqueuePullRequest(input: $input)" in call.body["query"], 400, "unknown query")
    entry = call.body["variables"]["input"]
    if not call.grant.has("merge_queues: write"):
        return _mistake("FORBIDDEN", "Resource not accessible by integration")
    try:
        call.world.enter_queue(entry["pullRequestId"], entry["expectedHeadOid"])
    except Refused as refused:
        return _mistake("UNPROCESSABLE", refused.message)
    return Reply(200, {"data": {"enqueuePullRequest": {"mergeQueueEntry": {"position": 1}}}})


def _mistake(kind: str, message: str) -> Reply:
    errors = [{"type": kind, "path": ["enqueuePullRequest"], "message": message}]
    return Reply(200, {"data": {"enqueuePullRequest": None}, "errors": errors})


@route("GET", f"{REPO}/pulls/{{pull_number}}/reviews", READ)
def list_reviews(call: Call) -> Reply:
    pull = call.world.find_pull(call.number("pull_number"))
    found = [review for review in call.world.reviews if review.number == pull.number]
    return Reply(200, [call.shapes.review(review) for review in found])


@route("GET", f"{REPO}/issues/{{issue_number}}/events", READ)
def list_events(call: Call) -> Reply:
    pull = call.world.find_pull(call.number("issue_number"))
    found = [event for number, event in call.world.retargets if number == pull.number]
    return Reply(200, [call.shapes.retarget(event) for event in found])


@route("GET", f"{REPO}/pulls/{{pull_number}}/commits", READ)
def list_commits(call: Call) -> Reply:
    pull = call.world.find_pull(call.number("pull_number"))
    commits = bare.new_commits(call.world.repo.path, pull.base, pull.head)
    return Reply(200, [call.shapes.commit(commit) for commit in commits[:250]])


@route("GET", f"{REPO}/commits/{{commit_sha}}/pulls", READ)
def list_pulls_of_commit(call: Call) -> Reply:
    world, commit = call.world, call.path["commit_sha"]
    require(bare.has(world.repo.path, commit), 422, f"No commit found for SHA: {commit}")
    tip = bare.refs(world.repo.path)[f"refs/heads/{world.repo.default}"]
    is_in_default = bare.is_ancestor(world.repo.path, commit, tip)
    found = [
        pull for pull in world.pulls
        if commit in pull.brought
        or (not is_in_default and pull.state == "open"
            and bare.is_ancestor(world.repo.path, commit, pull.head))
    ]  # fmt: skip
    return Reply(200, [call.shapes.pull(pull) for pull in found])


@route("GET", f"{REPO}/rules/branches/{{branch}}", "metadata: read")
def list_rules(call: Call) -> Reply:
    is_ruled = call.path["branch"] == call.world.repo.default
    return Reply(200, call.shapes.rules(call.world.repo.rules) if is_ruled else [])


@route("GET", f"{REPO}/branches/{{branch}}", "contents: read")
def show_branch(call: Call) -> Reply:
    branch = call.path["branch"]
    commit = bare.refs(call.world.repo.path).get(f"refs/heads/{branch}", "")
    require(commit, 404, "Branch not found")
    return Reply(200, call.shapes.branch(branch, commit))


@route("GET", f"{REPO}/branches/{{branch}}/protection", "administration: read")
def show_protection(call: Call) -> Reply:
    rules = call.world.repo.classic
    if rules is None:
        raise Refused(404, "Branch not protected")
    return Reply(200, call.shapes.protection(rules))


@route("GET", f"{REPO}/collaborators/{{username}}/permission", "metadata: read")
def show_permission(call: Call) -> Reply:
    login = call.path["username"]
    role = call.world.role(login)
    names = {"maintain": "write", "triage": "read", "none": "read"}
    user = {**call.shapes.user(login), "role_name": role}
    return Reply(200, {"permission": names.get(role, role), "role_name": role, "user": user})


@route("GET", "/orgs/{org}/teams/{team_slug}/memberships/{username}", "members: read")
def show_membership(call: Call) -> Reply:
    team = f"{call.path['org']}/{call.path['team_slug']}"
    require(call.path["username"] in call.world.teams.get(team, ()))
    return Reply(200, {"role": "member", "state": "active", "url": call.shapes.api})


@route("GET", "/orgs/{org}/teams", "members: read")
def list_teams(call: Call) -> Reply:
    return Reply(200, [])


@route("POST", f"{REPO}/git/refs", "contents: write")
def create_ref(call: Call) -> Reply:
    require(bare.has(call.world.repo.path, call.body["sha"]), 422, "Object does not exist")
    raise Refused(422, "the stand-in creates no refs by its API")
