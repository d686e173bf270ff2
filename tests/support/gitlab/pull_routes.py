"""Routes of merge requests, approvals and rules of the stand-in for GitLab."""

from __future__ import annotations

import re

from tests.support.github import bare
from tests.support.github.facts import Comment
from tests.support.github.routing import Reply, require
from tests.support.github.world import Refused
from tests.support.gitlab.routing import PROJECT, PULL, READ, WRITE, GitLabCall, route

_BLOCKED = "405 Method Not Allowed"


@route("GET", PROJECT, READ, "ProjectSchema")
def show_project(call: GitLabCall) -> Reply:
    return Reply(200, call.shapes.project(call.grant.who))


@route("GET", f"{PROJECT}/merge_requests", READ, "MergeRequestSchema[]")
def list_pulls(call: GitLabCall) -> Reply:
    found = [call.shapes.pull(pull) for pull in reversed(call.world.pulls)]
    for name in ("state", "source_branch", "target_branch"):
        found = [pull for pull in found if call.query.get(name, pull[name]) == pull[name]]
    return Reply(200, found)


@route("POST", f"{PROJECT}/merge_requests", WRITE, "ExpandedMergeRequestSchema")
def open_pull(call: GitLabCall) -> Reply:
    body = call.body
    try:
        pull = call.world.open_pull(
            call.grant.who, body["source_branch"], body["title"], target=body["target_branch"],
            body=body.get("description", ""), is_draft=body["title"].startswith("Draft:"),
        )  # fmt: skip
    except Refused as refused:
        if "already exists" in refused.message:
            text = "Another open merge request already exists for this source branch: !1"
            return Reply(409, {"message": [text]})
        raise
    return Reply(201, call.shapes.pull(pull))


@route("GET", PULL, READ, "ExpandedMergeRequestSchema")
def show_pull(call: GitLabCall) -> Reply:
    return Reply(200, call.shapes.pull(call.pull()))


@route("PUT", PULL, WRITE, "ExpandedMergeRequestSchema")
def change_pull(call: GitLabCall) -> Reply:
    pull = call.pull()
    if call.body.get("state_event") == "close":
        call.world.close(pull.number)
    return Reply(200, call.shapes.pull(pull))


@route("PUT", f"{PULL}/merge", WRITE, "ExpandedMergeRequestSchema")
def merge_pull(call: GitLabCall) -> Reply:
    world, pull = call.world, call.pull()
    require(world.level(call.grant.who) >= 30, 401, "401 Unauthorized")
    is_open = pull.state == "open" and not pull.is_draft
    require(is_open, 405, _BLOCKED)
    is_same = call.body.get("sha", pull.head) == pull.head
    require(is_same, 409, "SHA does not match HEAD of source branch")
    try:
        world.merge(pull.number, call.grant.who, world.style)
    except Refused:
        raise Refused(405, _BLOCKED) from None
    return Reply(200, call.shapes.pull(pull))


@route("GET", f"{PULL}/approvals", READ, "MergeRequestLevelMergeRequestApprovalSchema")
def show_approvals(call: GitLabCall) -> Reply:
    approved = [*call.world.verdicts(call.pull().number, "APPROVED")]
    return Reply(200, {"approved_by": [call.shapes.approval(review) for review in approved]})


@route("GET", f"{PULL}/reviewers", READ, "MergeRequestReviewerSchema[]")
def list_reviewers(call: GitLabCall) -> Reply:
    number, world = call.pull().number, call.world
    states = {"APPROVED": "approved", "CHANGES_REQUESTED": "requested_changes"}
    return Reply(200, [
        call.shapes.reviewer(review, name) for state, name in states.items()
        for review in world.verdicts(number, state)
    ])  # fmt: skip


@route("GET", f"{PULL}/versions", READ, "MergeRequestDiffVersionsSchema[]")
def list_versions(call: GitLabCall) -> Reply:
    number = call.pull().number
    mine = [version for version in call.world.versions if version.number == number]
    return Reply(200, [call.shapes.version(version) for version in reversed(mine)])


@route("GET", f"{PULL}/notes", READ, "MergeRequestNoteSchema[]")
def list_notes(call: GitLabCall) -> Reply:
    """List comments, and the events of approvals and pushes."""
    number, world, shapes = call.pull().number, call.world, call.shapes
    notes = [shapes.note(each) for each in world.comments if each.number == number]
    if call.query.get("activity_filter") == "only_activity":
        notes.clear()
    for version in world.versions:
        if version.number == number and version.pusher:
            pushed = Comment(version.id, number, version.pusher, "added 1 commit\n\n<ul></ul>")
            notes.append(shapes.note(pushed, is_system=True))
    for review in world.reviews:
        if (review.number, review.state) == (number, "APPROVED"):
            event = Comment(review.id, number, review.who, "approved this merge request")
            notes.append(shapes.note(event, is_system=True))
    is_newest_first = call.query.get("sort", "desc") == "desc"
    return Reply(200, sorted(notes, key=lambda note: note["id"], reverse=is_newest_first))


@route("GET", f"{PROJECT}/repository/commits/{{sha}}/merge_requests", READ, "MergeRequestSchema[]")
def list_pulls_of_commit(call: GitLabCall) -> Reply:
    world, commit = call.world, call.path["sha"]
    require(bare.has(world.repo.path, commit), 404, "404 Commit Not Found")
    found = [
        pull for pull in world.pulls if commit in {pull.merge_commit, *pull.brought}
        or commit in world.commits(pull)
    ]  # fmt: skip
    shapes = [call.shapes.pull(pull) for pull in found]
    return Reply(200, [each for each in shapes if each["state"] == call.query.get("state")])


@route("GET", f"{PROJECT}/protected_branches", READ, "ProtectedBranchSchema[]")
def list_protected(call: GitLabCall) -> Reply:
    rules = call.world.repo.classic
    return Reply(200, [call.shapes.protected(rules)] if rules else [])


@route("GET", f"{PROJECT}/approval_rules", READ, "ProjectLevelApprovalRuleSchema[]")
def list_approval_rules(call: GitLabCall) -> Reply:
    require(call.world.is_paid, 403, "403 Forbidden")
    call.require_level(30)
    repo = call.world.repo
    return Reply(200, [call.shapes.approval_rule(repo.classic or repo.rules)])


@route("GET", f"{PROJECT}/members/all/{{user_id}}", READ, "SimpleMemberSchema")
def show_member(call: GitLabCall) -> Reply:
    login = call.world.accounts.get(call.number("user_id"), "")
    require(call.world.level(login), 404, "404 Not found")
    return Reply(200, call.shapes.member(login))


@route("GET", f"{PROJECT}/groups", READ, "SimpleGroupSchema[]")
def list_groups(call: GitLabCall) -> Reply:
    is_whole = call.query.get("with_shared") == "true"
    invited = set() if is_whole else call.world.invited
    return Reply(200, [
        call.shapes.group(name) for name in call.world.groups() if name not in invited
    ])  # fmt: skip


@route("GET", "/v4/groups/{group}/members/{user_id}", READ, "SimpleMemberSchema")
def show_group_member(call: GitLabCall) -> Reply:
    login = call.world.accounts.get(call.number("user_id"), "")
    teams = {name.lower(): members for name, members in call.world.teams.items()}
    require(login in teams.get(call.path["group"].lower(), ()), 404, "404 Not found")
    return Reply(200, {**call.shapes.member(login), "access_level": 30})


@route("POST", "/graphql", READ)
def list_authors(call: GitLabCall) -> Reply:
    """Answer the query for the users of a merge request's commits."""
    found = re.fullmatch(r"gid://gitlab/MergeRequest/90*(\d+)", call.body["variables"]["id"])
    require(found and "mergeRequest(id: $id)" in call.body["query"], 400, "unknown query")
    pull = call.world.find_pull(int(found[1]) if found else 0)
    return Reply(200, {"data": {"mergeRequest": call.shapes.committed(pull)}})
