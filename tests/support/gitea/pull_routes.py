"""Routes of pull requests, reviews and rules of the stand-in for Gitea."""

from __future__ import annotations

import subprocess

from tests.support.gitea.routing import REPO, GiteaCall, route
from tests.support.github import bare
from tests.support.github.facts import Comment
from tests.support.github.routing import Reply, require
from tests.support.github.world import Refused

READ, WRITE = "repository: read", "repository: write"


@route("GET", REPO, READ)
def show_repo(call: GiteaCall) -> Reply:
    return Reply(200, call.shapes.repo(call.world.repo, call.grant.who))


@route("GET", f"{REPO}/pulls", READ)
def list_pulls(call: GiteaCall) -> Reply:
    state = call.query.get("state", "open")
    found = [pull for pull in reversed(call.world.pulls) if state in {"all", pull.state}]
    return Reply(200, [call.shapes.pull(pull) for pull in found])


@route("POST", f"{REPO}/pulls", WRITE)
def open_pull(call: GiteaCall) -> Reply:
    body = call.body
    message = "Invalid PullRequest: There are no changes between the head and the base"
    require(body["head"] != body["base"], 422, message)
    title = body["title"]
    try:
        pull = call.world.open_pull(
            call.grant.who, body["head"], title, target=body["base"], body=body.get("body") or "",
            is_draft=title.startswith("WIP:"),
        )  # fmt: skip
    except Refused as refused:
        is_known = "already exists" in refused.message
        raise Refused(409 if is_known else 404, refused.message) from None
    return Reply(201, call.shapes.pull(pull))


@route("GET", f"{REPO}/pulls/{{index}}", READ)
def show_pull(call: GiteaCall) -> Reply:
    return Reply(200, call.shapes.pull(call.world.find_pull(call.number("index"))))


@route("PATCH", f"{REPO}/pulls/{{index}}", WRITE)
def change_pull(call: GiteaCall) -> Reply:
    pull = call.world.find_pull(call.number("index"))
    if call.body.get("state") == "closed":
        require(not pull.merge_commit, 412, "cannot change state of this pull request")
        call.world.close(pull.number)
    return Reply(201, call.shapes.pull(pull))


@route("POST", f"{REPO}/pulls/{{index}}/merge", WRITE)
def merge_pull(call: GiteaCall) -> Reply:
    """Merge a pull request; the response has no body."""
    world, body = call.world, call.body
    call.require_writer()
    pull = world.find_pull(call.number("index"))
    world.require_open(pull, body.get("head_commit_id", ""))
    try:
        world.merge(pull.number, call.grant.who, body["Do"])
    except subprocess.CalledProcessError:
        raise Refused(409, "merge conflict") from None
    return Reply(200, None)


@route("GET", f"{REPO}/pulls/{{index}}/reviews", READ)
def list_reviews(call: GiteaCall) -> Reply:
    pull = call.world.find_pull(call.number("index"))
    found = [review for review in call.world.reviews if review.number == pull.number]
    return Reply(200, [call.shapes.review(review) for review in found])


@route("GET", f"{REPO}/issues/{{index}}/timeline", "issue: read")
def list_timeline(call: GiteaCall) -> Reply:
    pull, shapes = call.world.find_pull(call.number("index")), call.shapes
    comments = [shapes.event(each) for each in call.world.comments if each.number == pull.number]
    changes = [
        shapes.event(Comment(event, number, "ada", ""), "change_target_branch")
        for number, event in call.world.retargets if number == pull.number
    ]  # fmt: skip
    return Reply(200, [*comments, *changes])


@route("GET", f"{REPO}/pulls/{{index}}/commits", READ)
def list_commits(call: GiteaCall) -> Reply:
    pull = call.world.find_pull(call.number("index"))
    commits = bare.new_commits(call.world.repo.path, pull.base, pull.head)
    return Reply(200, [call.shapes.commit(commit) for commit in reversed(commits)])


@route("GET", f"{REPO}/commits/{{sha}}/pull", READ)
def show_pull_of_commit(call: GiteaCall) -> Reply:
    found = [pull for pull in call.world.pulls if pull.merge_commit == call.path["sha"]]
    require(found, 404, "pull request does not exist")
    return Reply(200, call.shapes.pull(found[0]))


@route("GET", f"{REPO}/branches/{{branch}}", READ)
def show_branch(call: GiteaCall) -> Reply:
    branch = call.path["branch"]
    commit = bare.refs(call.world.repo.path).get(f"refs/heads/{branch}", "")
    require(commit)
    return Reply(200, call.shapes.branch(branch, commit))


@route("GET", f"{REPO}/collaborators/{{collaborator}}/permission", READ)
def show_permission(call: GiteaCall) -> Reply:
    login = call.path["collaborator"]
    if login != call.grant.who:
        call.require_admin()
    role = call.world.role(login)
    return Reply(200, {"permission": role, "role_name": role, "user": call.shapes.user(login)})


@route("GET", "/orgs/{org}/teams/search", "organization: read")
def search_teams(call: GiteaCall) -> Reply:
    require(call.path["org"] == call.world.repo.owner)
    found = [team for team in _teams(call) if call.query["q"].lower() in team["name"].lower()]
    return Reply(200, {"ok": True, "data": found})


@route("GET", "/teams/{id}/members/{username}", "organization: read")
def show_member(call: GiteaCall) -> Reply:
    members = [*call.world.teams.values()][call.number("id") - 1]
    require(call.path["username"] in members)
    return Reply(200, call.shapes.user(call.path["username"]))


def _teams(call: GiteaCall) -> list[dict[str, object]]:
    return [call.shapes.team(at, name) for at, name in enumerate(call.world.teams, 1)]
