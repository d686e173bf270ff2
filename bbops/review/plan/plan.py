"""Plans: the effects of a change as one frozen value, and as JSON with its schema."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from bbops.compiler.check import CheckedProject
from bbops.review.contract.files import schema_of
from bbops.review.plan.access import find_access
from bbops.review.plan.breaking import find_breaks
from bbops.review.plan.changes import (
    Pairs,
    ResourceChange,
    RouteChange,
    find_resources,
    find_routes,
)
from bbops.review.plan.codes import Finding
from bbops.review.plan.review import Needs, Rules, Verdict, find_needs, judge, read_rules
from bbops.review.plan.tables import TableChange, find_tables
from bbops.review.plan.work import REFUSED, WorkChange, find_work
from bbops.source.tree import Tree


@dataclass(frozen=True, slots=True)
class Plan:
    """The effects of a change.

    Attributes:
        rules: the rules that judge it: from the project as it is now.
        breaks: the breaks for clients of today.
        access: the places with more access than today.
        work: the effects on jobs.
        looked: whether the live database has reported the touched rows.
    """

    rules: Rules
    verdict: Verdict
    breaks: tuple[Finding, ...]
    access: tuple[Finding, ...]
    tables: tuple[TableChange, ...]
    work: tuple[WorkChange, ...]
    looked: bool
    needs: Needs
    routes: tuple[RouteChange, ...]
    resources: tuple[ResourceChange, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes in the project's meaning, whatever its files look like."""
        return not (self.resources or self.routes or self.breaks or self.access or self.tables)


def plan(
    base: CheckedProject, head: CheckedProject, *, values: Collection[str] | None = None,
    now: int | None = None,
) -> Plan:  # fmt: skip
    """Return the effects of turning one project into another. Pure; O(differences) and the routes.

    Args:
        base: the current project, without mistakes.
        head: the proposed project, without mistakes.
        values: names of the env variables that have a value; None if they are unknown.
        now: the time in milliseconds since 1970, for the next runs of tasks.
    """
    pairs = Pairs(base, head)
    resources, access, tables = find_resources(pairs), find_access(pairs), find_tables(pairs)
    work = find_work(pairs, now)
    rules = read_rules(base)
    return Plan(
        rules=rules,
        verdict=judge(rules, resources, access, tables, work),
        breaks=find_breaks(pairs),
        access=access,
        tables=tables,
        work=work,
        looked=False,
        needs=find_needs(pairs, values),
        routes=find_routes(pairs),
        resources=resources,
    )


def digest(plan: Plan, files: Collection[tuple[str, str]]) -> str:
    """Return the name of a plan: a review of it binds a merge to it.

    Merges by others change it only if they change the effects of this plan. So it ignores numbers
    of rows and jobs, which change while a plan is read, places in files, the project's size, and
    variables with values; it includes their consequences for the plan.

    Args:
        plan: the reviewed plan.
        files: the path and the new blob of each changed file; the blob of a removed file is
            empty.
    """
    said = msgspec.to_builtins(plan)
    for change in said["tables"]:
        del change["rows"], change["keys"]
    said["work"] = [
        effect for effect in said["work"] if effect["code"] != REFUSED
    ]  # a grant ends it
    for change in said["work"]:
        del change["begun"], change["waiting"], change["ticks"], change["table"]
    for table in (*said["tables"], *said["breaks"], *said["access"], *said["work"]):
        table.pop("line", None)
    said["verdict"].pop("refused")  # has numbers of rows; `tables` has the obstacles
    del said["rules"]["size"], said["needs"], said["looked"]
    text = msgspec.json.encode([sorted(files), said], order="deterministic")
    return hashlib.sha256(text).hexdigest()


# ---- Write a plan as JSON, and the schema of that JSON

FILE = "plan.schema.json"


@dataclass(frozen=True, slots=True)
class Side:
    """A side of the plan: one of the two projects.

    Attributes:
        revision: for example `main@sha1:…`, or `working-tree`.
        tree: the id of its files.
    """

    revision: str
    tree: str


@dataclass(frozen=True, slots=True)
class Document:
    """A plan between two trees.

    Attributes:
        version: the version of this form; keys may be added, but never removed or redefined.
        digest: the name of the plan, so that a merge can be bound to the reviewed one.
        changes: whether it changes anything.
    """

    version: Literal[1]
    base: Side
    head: Side
    digest: str
    changes: bool
    plan: Plan


def describe(plan: Plan, base: Tree, head: Tree) -> Document:
    """Return the document of a plan between two trees.

    Args:
        plan: the plan between the projects of the trees.
        base: the old files.
        head: the new files.
    """
    before, after = Side(base.revision, tree_id(base)), Side(head.revision, tree_id(head))
    named = digest(plan, changed_files(base, head))
    return Document(1, before, after, named, not plan.is_empty, plan)


def changed_files(base: Tree, head: Tree) -> list[tuple[str, str]]:
    """Return the path and the new blob of each changed file; empty for a removed file."""
    old = {entry.path: (entry.blob, entry.kind) for entry in base.entries()}
    new = {entry.path: (entry.blob, entry.kind) for entry in head.entries()}
    paths = {path for path in (*old, *new) if old.get(path) != new.get(path)}
    return [(path, new[path][0] if path in new else "") for path in sorted(paths)]


def tree_id(tree: Tree) -> str:
    """Return an id that trees with the same files share, in a folder or in a commit."""
    files = sorted((entry.path, entry.blob, entry.kind) for entry in tree.entries())
    return hashlib.sha256(msgspec.json.encode(files)).hexdigest()


def encode(document: Document) -> dict[str, Any]:
    """Return a document as JSON values."""
    found: dict[str, Any] = msgspec.to_builtins(document)
    return found


def schema_file() -> dict[str, str]:
    """Return the text of the schema's file by its name."""
    return {FILE: schema_of(Document)}
