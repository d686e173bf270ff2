"""Turn commits into releases, or into diagnostics."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bbops.base.diagnostics import Place
from bbops.base.disk import replace_file
from bbops.base.errors import ProjectError, ServerError
from bbops.base.json_diagnostics import JsonDiagnostic
from bbops.compiler.check import CheckedProject
from bbops.compiler.check._supported import needs_base
from bbops.compiler.compile.release import Built, build, check, declared_env
from bbops.compiler.compile.row_events import find_row_events
from bbops.compiler.compile.sent_webhooks import find_signing_secrets
from bbops.language.project import Project
from bbops.language.resources.project import Engine
from bbops.review.plan.hosts import find_hosts
from bbops.review.plan.plan import plan
from bbops.review.plan.render.phrases import summary
from bbops.source.tree import Tree
from bbops_server.process.messages.builds import (
    BuildRelease,
    BuiltRelease,
    CheckedPush,
    CheckPush,
    CheckRemoval,
    CheckRemovalAnswer,
    PublishFrontend,
    PublishFrontendAnswer,
    RunCommitTests,
    Summarize,
    SummarizeAnswer,
)
from bbops_server.publish.build.build_input import BuildInput
from bbops_server.publish.build.executor import SyncHandlers
from bbops_server.publish.build.frontend import write_frontend
from bbops_server.publish.build.gate import ReleaseGate
from bbops_server.publish.build.proposed_change import find_removed
from bbops_server.publish.build.sources import OpenSources, SourceFields
from bbops_server.publish.build.tables import DatabaseHandlers, DeclaredTables
from bbops_server.publish.build.tagged_frontend import check_tagged, find_tagged, publish
from bbops_server.publish.build.warnings import warn_of_browser, warn_of_files

_PROJECTS_KEPT = 8
"""Checked projects to keep for summaries: the live and the new one of some projects."""


class ReleaseCompiler:
    """Compiles in the thread that owns the sources."""

    def __init__(self, sources: OpenSources, tables: DatabaseHandlers, gate: ReleaseGate) -> None:
        """`tables` and `gate` keep the declared tables and the tests of each build."""
        self._sources, self._tables, self._gate = sources, tables, gate
        self._built: dict[tuple[str, ...], CheckedProject] = {}

    @property
    def works(self) -> SyncHandlers:
        """Handlers that run one after the other."""
        return {
            BuildRelease: self._build, CheckPush: self._check, Summarize: self._summarize,
            CheckRemoval: self._check_removal, PublishFrontend: self._publish_frontend,
        }  # fmt: skip

    def read_input(self, request: RunCommitTests) -> BuildInput:
        """Return a valid commit as the input of a test run.

        Its tests run even if it may not go live, for example because no version supports a feature.

        Raises:
            GitError: the commit cannot be read.
            ProjectError: it has errors.
        """
        tree, cache = self._sources.open(request.source)
        project, diagnostics = check(
            tree, cache, off=request.off, database=request.engine, base=tree
        )
        if project is None:
            raise ProjectError(diagnostics)
        return BuildInput.take(tree, request.engine, request.off)

    def read(self, source: SourceFields, engine: Engine = "sqlite") -> Project:
        """Return the project of a source. Raises as `read_input`."""
        tree, cache = self._sources.open(source)
        project, diagnostics = check(tree, cache, database=engine, off=(), base=tree)
        if project is None:
            raise ProjectError(diagnostics)
        return project

    def _build(self, request: BuildRelease) -> BuiltRelease:
        started, source = time.monotonic(), request.source
        tree, cache = self._sources.open(source)
        off, engine = request.off, request.engine
        built = build(tree, cache, off=off, database=engine)
        if needs_base(built.diagnostics):
            base = self._sources.accepted(source, request.live)
            built = build(tree, cache, off=off, database=engine, base=base)
        tagged = find_tagged(self._sources, built, tree, source)
        built = check_tagged(built, tagged) if tagged else built
        built = warn_of_files(built, stay_here=request.files_stay_here)
        built = warn_of_browser(built, request.browser)
        if built.project is not None and source["kind"] == "git":
            self._remember(source, engine, built.project)
        artifacts = Path(request.artifacts)
        test_input = BuildInput.take(tree, engine, off) if _is_gated(built) else None
        return BuiltRelease(
            ok=built.project is not None,
            diagnostics=[JsonDiagnostic.of(diagnostic) for diagnostic in built.diagnostics],
            digest=built.digest,
            revision=tree.revision,
            subject=self._sources.subject(source),
            author=self._sources.author(source),
            compiled=built.compiled,
            **self._keep(built, artifacts, test_input),
            frontend=_write_frontend(built, artifacts.parent, tree, tagged),
            tagged=tagged.revision if tagged else "",
            milliseconds=round(1000 * (time.monotonic() - started)),
        )

    def _check(self, request: CheckPush) -> CheckedPush:
        source, old = request.source, request.old
        tree, cache = self._sources.open(source)
        engine, off = request.engine, request.off
        project, diagnostics = check(tree, cache, database=engine, off=off)
        if needs_base(diagnostics):
            base = self._sources.accepted(source, request.live)
            project, diagnostics = check(tree, cache, database=engine, off=off, base=base)
        store = self._sources.store(source["repository"], source.get("quarantine", ""))
        return CheckedPush(
            ok=project is not None,
            diagnostics=[JsonDiagnostic.of(diagnostic) for diagnostic in diagnostics],
            follows=not old or store.is_ancestor(old, source["commit"]),
            removed=self._find_removed(request) if project and request.bounds else "",
        )

    def _find_removed(self, request: CheckPush) -> str:
        source = request.source
        base = {**source, "commit": request.old}
        return find_removed(self._sources, base, source, request.engine)

    def _check_removal(self, request: CheckRemoval) -> CheckRemovalAnswer:
        refused = find_removed(self._sources, request.base, request.source, request.engine)
        return CheckRemovalAnswer(refused)

    def _summarize(self, request: Summarize) -> SummarizeAnswer:
        now = self._checked(request.base, request.engine)
        then = self._checked(request.source, request.engine)
        if now is None or then is None:
            return SummarizeAnswer("")
        return SummarizeAnswer(summary(plan(now, then)))

    def _checked(self, source: SourceFields, engine: Engine) -> CheckedProject | None:
        """Return the project of a commit; None with errors. The latest builds are cached."""
        project = self._built.get(_commit_key(source, engine))
        if project is None:
            tree, cache = self._sources.open(source)
            project, _ = check(tree, cache, database=engine, off=(), base=tree)
        return project

    def _remember(self, source: SourceFields, engine: Engine, project: CheckedProject) -> None:
        key = _commit_key(source, engine)
        self._built.pop(key, None)
        self._built[key] = project
        while len(self._built) > _PROJECTS_KEPT:
            del self._built[next(iter(self._built))]

    def _publish_frontend(self, request: PublishFrontend) -> PublishFrontendAnswer:
        return publish(self._sources, self.read(request.source, request.engine), request)

    def _keep(self, built: Built, artifacts: Path, test_input: BuildInput | None) -> dict[str, Any]:
        """Write the artifact, keep its tables and tests; return the remaining facts."""
        if built.project is None:
            return {}
        _write(artifacts / built.digest, built.artifact)
        settings = built.project.settings.model
        tables = {name: table.model for name, table in built.project.tables.items()}
        declared = DeclaredTables(tables, find_row_events(built.project))
        self._tables.remember(artifacts.parent, built.digest, declared)
        return {
            "artifact": str(artifacts / built.digest),
            "env": declared_env(built.project),
            "project": settings.name,
            "durability": settings.database.durability,
            "gate": self._gate.keep(artifacts.parent, built.digest, test_input),
            "signs": settings.auth.key_name if settings.auth else "",
            "signing_secrets": [
                (secret.variable, secret.scheme, _describe_place(secret.place))
                for secret in find_signing_secrets(built.project)
            ],
            "review": settings.review.model_dump(exclude_none=True),
            "reaches": asdict(find_hosts(built.project)),
        }


def _describe_place(place: Place) -> str:
    return f"{place.file}:{place.line}:{place.column}"


def _commit_key(source: SourceFields, engine: Engine) -> tuple[str, ...]:
    return source["repository"], source["path"], source["commit"], engine


def _is_gated(built: Built) -> bool:
    return built.project is not None and built.project.settings.model.tests.gate


def _write(path: Path, artifact: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, artifact)
    except OSError as error:
        reason = (error.strerror or "no reason given").lower()
        raise ServerError(
            f"cannot write artifact '{path}': {reason}",
            hint="the state folder needs a writable disk with free space",
        ) from None


def _write_frontend(built: Built, state: Path, tree: Tree, tagged: Tree | None) -> str:
    if built.project is None:
        return ""
    settings = built.project.settings.model.frontend
    if tagged is not None:
        return write_frontend(state, built.project, tagged, "")
    return write_frontend(state, built.project, tree, settings.directory if settings else "")
