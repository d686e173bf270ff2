"""Find the folders that bbops brings along: inside the package, in a checkout beside it."""

from __future__ import annotations

from pathlib import Path

from bbops.base.errors import BbopsError

_PACKAGE = Path(__file__).parent.parent


def asset_folder(name: str) -> Path:
    """Return the folder `project-template` or `docs`.

    Raises:
        BbopsError: this installation lacks it.
    """
    packed, checkout = _PACKAGE / "_assets" / name, _PACKAGE.parent
    if packed.is_dir():
        return packed
    # Beside an installed package lie other people's folders, and one may be called `docs`.
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise BbopsError(
        f"this installation is incomplete: it has no folder '{name}'", hint="reinstall bbops"
    )
