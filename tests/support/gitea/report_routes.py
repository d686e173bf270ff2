"""Routes of statuses, comments, releases, users and webhooks of the stand-in for Gitea."""

from __future__ import annotations

from tests.support.gitea.pull_routes import READ, WRITE
from tests.support.gitea.routing import REPO, GiteaCall, route
from tests.support.github import bare
from tests.support.github.facts import Comment, Hook, Released, Status
from tests.support.github.routing import Reply, require


@route("GET", "/user", "user: read")
def show_user(call: GiteaCall) -> Reply:
    return Reply(200, call.shapes.user(call.grant.who))


@route("GET", "/users/search", "user: read")
def search_users(call: GiteaCall) -> Reply:
    """List the user of an id; all users without one."""
    number = int(call.query.get("uid", "0"))
    accounts = call.world.accounts
    found = [login for key, login in accounts.items() if number in {0, key}]
    return Reply(200, {"ok": True, "data": [call.shapes.user(login) for login in found]})


@route("GET", f"{REPO}/issues/{{index}}/comments", "issue: read")
def list_comments(call: GiteaCall) -> Reply:
    number = call.number("index")
    found = [comment for comment in call.world.comments if comment.number == number]
    return Reply(200, [call.shapes.comment(comment) for comment in found])


@route("POST", f"{REPO}/issues/{{index}}/comments", "issue: write")
def create_comment(call: GiteaCall) -> Reply:
    pull = call.world.find_pull(call.number("index"))
    comment = Comment(call.world.new_id(), pull.number, call.grant.who, call.body["body"])
    call.world.comments.append(comment)
    return Reply(201, call.shapes.comment(comment))


@route("PATCH", f"{REPO}/issues/comments/{{id}}", "issue: write")
def change_comment(call: GiteaCall) -> Reply:
    number = call.number("id")
    found = [comment for comment in call.world.comments if comment.id == number]
    require(found)
    found[0].body = call.body["body"]
    return Reply(200, call.shapes.comment(found[0]))


@route("POST", f"{REPO}/statuses/{{sha}}", WRITE)
def create_status(call: GiteaCall) -> Reply:
    body, commit = call.body, call.path["sha"]
    call.require_writer()
    require(bare.has(call.world.repo.path, commit), 500, "")
    status = Status(
        call.world.new_id(), commit, body["context"], body["state"], call.grant.who,
        body.get("description", ""), body.get("target_url", ""),
    )  # fmt: skip
    call.world.statuses.append(status)
    return Reply(201, call.shapes.status(status))


@route("GET", f"{REPO}/commits/{{ref}}/status", READ)
def show_status(call: GiteaCall) -> Reply:
    commit = call.path["ref"]
    require(bare.has(call.world.repo.path, commit))
    newest = {each.context: each for each in call.world.statuses if each.commit == commit}
    statuses = [call.shapes.status(status) for status in newest.values()]
    states = {status.state for status in newest.values()}
    state = "success" if states == {"success"} else "pending"
    url = f"{call.shapes.root}/commits/{commit}"
    return Reply(200, {
        "state": state, "sha": commit, "total_count": len(statuses), "commit_url": url,
        "url": f"{url}/status", "repository": call.shapes.repo(call.world.repo),
        "statuses": statuses,
    })  # fmt: skip


@route("POST", f"{REPO}/releases", WRITE)
def create_release(call: GiteaCall) -> Reply:
    body = call.body
    call.require_writer()
    is_new = all(release.tag != body["tag_name"] for release in call.world.releases)
    require(is_new, 409, "Release is has no Tag")
    release = Released(
        call.world.new_id(), body["tag_name"], body.get("target_commitish", "main"),
        body.get("name", ""), body.get("body", ""), call.grant.who,
    )  # fmt: skip
    call.world.releases.append(release)
    return Reply(201, call.shapes.release(release))


@route("GET", f"{REPO}/releases/tags/{{tag}}", READ)
def show_release(call: GiteaCall) -> Reply:
    found = [release for release in call.world.releases if release.tag == call.path["tag"]]
    require(found)
    return Reply(200, call.shapes.release(found[0]))


@route("GET", f"{REPO}/hooks", READ)
def list_hooks(call: GiteaCall) -> Reply:
    call.require_admin()
    return Reply(200, [call.shapes.hook(hook) for hook in call.world.webhooks.hooks])


@route("POST", f"{REPO}/hooks", WRITE)
def create_hook(call: GiteaCall) -> Reply:
    """Create a webhook, also beside another one of its address."""
    call.require_admin()
    config = call.body["config"]
    hook = Hook(call.world.new_id(), config["url"], config["secret"], call.body["events"])
    call.world.webhooks.hooks.append(hook)
    return Reply(201, call.shapes.hook(hook))


@route("DELETE", f"{REPO}/hooks/{{id}}", WRITE)
def delete_hook(call: GiteaCall) -> Reply:
    call.require_admin()
    number, hooks = call.number("id"), call.world.webhooks.hooks
    require([hook for hook in hooks if hook.id == number])
    hooks[:] = [hook for hook in hooks if hook.id != number]
    return Reply(204, None)
