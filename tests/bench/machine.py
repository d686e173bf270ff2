"""What a reader must know of the machine and the versions; no names, no paths."""

from __future__ import annotations

import os
import platform
import sqlite3
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.bench.load.generator import CONNECTIONS, generator_name

PACKAGES = (
    "bbops",
    "litestar",
    "uvicorn",
    "uvloop",
    "httptools",
    "msgspec",
    "PyJWT",
    "SQLAlchemy",
    "aiosqlite",
    "asyncpg",
)


def describe_machine() -> dict[str, Any]:
    """Return facts that change the numbers."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load_before": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "packages": {name: version(name) for name in PACKAGES},
        "generator": generator_name(),
        "connections": CONNECTIONS,
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
