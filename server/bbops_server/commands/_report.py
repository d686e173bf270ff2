"""What `serve` and `dev` say in the terminal: one line per publication, and why one failed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from bbops_server.reconciler.loop import Published
from bbops_server.reconciler.status import Stalled


def print_json(event: Published | Stalled) -> None:
    """Print an event as one line of JSON."""
    if isinstance(event, Published):
        data: dict[str, Any] = {"event": "live", **asdict(event)}
    else:
        data = {
            "event": "stalled", "reason": event.reason, "message": event.message,
            "hint": event.hint, "diagnostics": event.diagnostics,
        }  # fmt: skip
    print(json.dumps(data), flush=True)  # noqa: T201 - a command's output


class Terminal:
    """Prints events for people; colour only on a terminal, and never with NO_COLOR."""

    def __init__(self, *, mode: str) -> None:
        from rich.console import Console  # noqa: PLC0415 - 60 ms that --json does not pay

        self.console = Console(highlight=False, soft_wrap=True)
        self.mode = mode

    def __call__(self, event: Published | Stalled) -> None:
        """Print one event."""
        if isinstance(event, Published):
            self.live(event)
        else:
            self.stalled(event)
        sys.stdout.flush()

    def live(self, event: Published) -> None:
        from rich.markup import escape  # noqa: PLC0415

        subject = f"  {escape(event.subject)}" if event.subject else ""
        took = f"[dim]in {event.milliseconds:.0f} ms[/]"
        self.console.print(f"[bold green]live[/]     {event.release}{subject}  {took}")
        for change in event.changes:
            self.console.print(f"         [cyan]{escape(change)}[/]")
        self.diagnostics(event.warnings)

    def stalled(self, event: Stalled) -> None:
        from rich.markup import escape  # noqa: PLC0415

        if event.diagnostics:
            count = sum(one["severity"] == "error" for one in event.diagnostics)
            self.console.print(f"[bold red]refused[/]  {count} error{'s' * (count > 1)}; {self.after}")
            self.diagnostics(event.diagnostics)
            return
        self.console.print(f"[bold red]stalled[/]  {escape(event.message)} [{event.reason}]".replace(
            f"[{event.reason}]", f"\\[{event.reason}]"))  # fmt: skip
        if event.hint:
            self.console.print(f"         hint: {escape(event.hint)}")

    @property
    def after(self) -> str:
        if self.mode == "dev":
            return "routes answer 503 until it is mended"
        return "the last good release serves on"

    def diagnostics(self, found: list[dict[str, Any]]) -> None:
        from rich.markup import escape  # noqa: PLC0415

        for one in found:
            place = f"{one['file']}:{one['line']}:{one['column']}"
            colour = "red" if one["severity"] == "error" else "yellow"
            text = f"{escape(one['message'])} [dim]\\[{one['code']}][/]"
            self.console.print(f"{place}: [{colour}]{one['severity']}[/]: {text}")
            if one["hint"]:
                self.console.print(f"    hint: {escape(one['hint'])}")
