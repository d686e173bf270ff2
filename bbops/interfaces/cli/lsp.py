"""Tell an editor of mistakes, types and names as you type."""

from __future__ import annotations

import click

from bbops.interfaces.cli._examples import examples


@examples("bbops lsp")
@click.command()
@click.option("--stdio", is_flag=True, help="Speak over stdin and stdout, which is what it does.")
def command(stdio: bool) -> None:  # noqa: ARG001 - editors give it, there is no other way
    """Speak the language server protocol with an editor, over stdin and stdout.

    An editor starts it; docs/editor.md says how in each one.
    """
    from bbops.interfaces.lsp.server import serve  # noqa: PLC0415 - only an editor needs it

    serve()
