"""Run `bbops` as `python -m bbops`, where no script is installed."""

from __future__ import annotations

from bbops.cli import main

main()
