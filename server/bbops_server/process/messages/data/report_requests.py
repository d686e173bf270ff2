"""Report each request once it is answered; asked before the process listens."""

from __future__ import annotations

from bbops_server.process.messages.request import Done, Request


class ReportRequests(Request[Done], frozen=True):
    """Report each request once it is answered; asked before the process listens."""
