"""Show errors, types and names in an editor as you type."""

from __future__ import annotations

import click

from bbops.interfaces.cli._command_group import examples


@examples("bbops lsp")
@click.command()
@click.option(
    "--stdio",
    is_flag=True,
    help="Communicate over stdin and stdout (the default, and the only transport).",
)
def command(stdio: bool) -> None:  # noqa: ARG001 - editors pass it, and it has no alternative
    """Run the language server (LSP) over stdin and stdout.

    Your editor starts it; docs/editor.md shows the settings for each editor.
    """
    from bbops.interfaces.lsp.server import serve  # noqa: PLC0415 - only an editor needs it

    serve()
