"""Notes which file of bbops each thread of a process enters, where BBOPS_WALK names a folder.

Python imports a module of this name when it starts, if its folder is on PYTHONPATH.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
import time
from typing import Any

FOLDER = os.environ.get("BBOPS_WALK", "")
PACKAGES = ("bbops", "bbops_server")
_local = threading.local()
_names: dict[str, str] = {}
_notes: dict[int, Any] = {}


def _module(path: str) -> str:
    parts = path.removesuffix(".py").replace(os.sep, "/").split("/")
    first = next((at for at, part in enumerate(parts) if part in PACKAGES), None)
    return ".".join(parts[first:]).removesuffix(".__init__") if first is not None else ""


def note(frame: Any, event: str, _: object) -> None:
    """Write a line when a thread goes from one file to another; forks write files of their own."""
    if event != "call" or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return  # a return, or the body of a module or a class that is imported
    if frame.f_code.co_qualname.startswith("<"):
        return  # a comprehension in such a body
    path = frame.f_code.co_filename
    name = _names.get(path)
    if name is None:
        name = _names[path] = _module(path)
    if not name or name == getattr(_local, "name", ""):
        return
    _local.name = name
    process = os.getpid()
    if process not in _notes:
        _notes[process] = open(os.path.join(FOLDER, str(process)), "a", buffering=1)  # noqa: PTH118, PTH123, SIM115 - before anything else is imported
    _notes[process].write(f"{time.time_ns()} {name}\n")


if FOLDER:
    threading.setprofile(note)
    sys.setprofile(note)
