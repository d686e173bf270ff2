"""Work outside of requests: tasks, triggers, webhooks that are sent, and agents."""

from __future__ import annotations

from collections.abc import Iterator

from bbops.language.project import Resource
from bbops.language.resources.agent import Agent, AgentLimits
from bbops.language.resources.task import Task
from bbops.language.resources.trigger import Trigger
from bbops.language.resources.webhook import ReceiverTable
from bbops.review.outline.outline import (
    AgentOutline,
    ApprovalOutline,
    TaskOutline,
    TriggerOutline,
    WebhookOutline,
)
from bbops.review.outline.relations import Relations
from bbops.review.outline.resources import text_at


def outline_tasks(relations: Relations) -> Iterator[TaskOutline]:
    """Yield the tasks of a project by name."""
    for name, task in sorted(relations.project.tasks.items()):
        model = task.model
        yield TaskOutline(
            name, task.file, 1, (model.description or "").strip(), _schedule(model),
            model.function, model.enabled, model.on_dead or "",
        )  # fmt: skip


def _schedule(task: Task) -> str:
    if task.every is not None:
        return f"every {task.every}"
    return f"{task.schedule} {task.timezone}"


def outline_triggers(relations: Relations) -> Iterator[TriggerOutline]:
    """Yield the triggers of a project by name."""
    for name, trigger in sorted(relations.project.triggers.items()):
        model, rows = trigger.model, trigger.model.database
        yield TriggerOutline(
            name, trigger.file, 1, (model.description or "").strip(),
            "database" if rows else "webhook" if model.webhook else "event",
            tuple(_events(model)), trigger_table(model), _condition(trigger), model.function,
            model.enabled, model.on_dead or "",
        )  # fmt: skip


def trigger_table(trigger: Trigger) -> str:
    """Return the table of a database trigger; empty for another one."""
    return str(trigger.database.table) if trigger.database else ""


def _events(trigger: Trigger) -> Iterator[str]:
    if trigger.database is not None:
        yield from (f"{trigger.database.table} {name}" for name in trigger.database.operation)
    elif trigger.webhook is not None:
        yield f"webhook {trigger.webhook.path}"
    yield from trigger.event or ()


def _condition(trigger: Resource[Trigger]) -> str:
    return text_at(trigger, "database", "where") or text_at(trigger, "where")


def outline_webhooks(relations: Relations) -> Iterator[WebhookOutline]:
    """Yield the webhooks that a project sends by name."""
    for name, webhook in sorted(relations.project.webhooks.items()):
        model, receivers = webhook.model, webhook.model.receivers
        yield WebhookOutline(
            name, webhook.file, 1, (model.description or "").strip(), tuple(sorted(model.events)),
            str(receivers.table) if isinstance(receivers, ReceiverTable) else "",
            relations.senders.get(name, ()),
        )  # fmt: skip


def outline_agents(relations: Relations) -> Iterator[AgentOutline]:
    """Yield the agents of a project by name."""
    for name, agent in sorted(relations.project.agents.items()):
        model = agent.model
        yield AgentOutline(
            name, agent.file, 1, (model.description or "").strip(), model.model.addon,
            model.model.name, model.tool_names, model.runs_on.starts, tuple(_approvals(model)),
            f"{model.memory.messages} messages for {model.memory.for_}",
            tuple(name.rstrip("?") for name in model.output or ()), tuple(_limits(model.limits)),
            model.enabled, model.on_dead or "",
        )  # fmt: skip


def _approvals(agent: Agent) -> Iterator[ApprovalOutline]:
    for tool in agent.every_tool:
        if tool.waits:
            yield ApprovalOutline(str(tool.function), tool.condition)


def _limits(limits: AgentLimits) -> Iterator[str]:
    yield f"{limits.max_steps} steps"
    yield str(limits.timeout)
    if limits.tokens is not None:
        yield f"{limits.tokens} tokens"
    if limits.money is not None:
        yield f"a cost of {limits.money:g}"
    yield f"{limits.concurrency} runs at a time"
