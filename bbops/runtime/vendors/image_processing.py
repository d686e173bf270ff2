"""imageProcessing, by libvips: in a thread, with what came from outside bounded before it is read.

A picture that cannot be read is the request's fault and a 400. What only other programs than image
libraries read (PDF, SVG, office files) is none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from bbops.runtime.values.failures import Thrown
from bbops.runtime.vendors._work import AddonFailure, Work

MOST_PIXELS: Final = 50_000_000
_QUALITY: Final = 80
_FORMATS: Final = {
    "jpeg": ".jpg", "png": ".png", "webp": ".webp", "avif": ".avif", "gif": ".gif", "tiff": ".tif",
}  # fmt: skip
_LOADERS: Final = {
    "jpegload_buffer": "jpeg", "pngload_buffer": "png", "webpload_buffer": "webp",
    "heifload_buffer": "avif", "gifload_buffer": "gif", "tiffload_buffer": "tiff",
}  # fmt: skip
_LOSSY: Final = frozenset({"jpeg", "webp", "avif", "tiff"})

Change = Callable[[Any, Any], Any]
"""Makes another picture of one; the first argument is the library."""


async def resize_image(work: Work, given: Mapping[str, Any]) -> Any:
    """Make a picture another size."""
    width, height = given.get("width"), given.get("height")
    fit = given.get("fit", "cover")

    def resize(vips: Any, picture: Any) -> Any:
        if width is None or height is None:
            return _scale(picture, width, height)
        return _FITS[fit](vips, picture, width, height)

    return await _change(work, given, resize)


async def convert_format(work: Work, given: Mapping[str, Any]) -> Any:
    """Write a picture in another format."""
    quality = given.get("quality", _QUALITY)
    return await _change(work, given, lambda _, picture: picture, given["format"], quality)


async def crop_image(work: Work, given: Mapping[str, Any]) -> Any:
    """Cut a rectangle out of a picture.

    Raises:
        Thrown: 400, where it does not lie in the picture.
    """
    left, top, width, height = (given[name] for name in ("left", "top", "width", "height"))

    def crop(_: Any, picture: Any) -> Any:
        is_inside = left >= 0 and top >= 0 and width > 0 and height > 0
        if not is_inside or left + width > picture.width or top + height > picture.height:
            size = f"{picture.width} x {picture.height}"
            raise Thrown(400, f"the rectangle is outside the image of {size} pixels")
        return picture.crop(left, top, width, height)

    return await _change(work, given, crop)


async def get_image_info(work: Work, given: Mapping[str, Any]) -> Any:
    """Read what a picture is."""
    data = await work.read(given["inputPath"])

    def read() -> dict[str, Any]:
        picture, found = _open(_library(), data, turns=False)
        return {
            "width": picture.width, "height": picture.height, "format": found, "size": len(data),
            "channels": picture.bands, "space": picture.interpretation,
        }  # fmt: skip

    return await asyncio.to_thread(read)


async def _change(
    work: Work, given: Mapping[str, Any], change: Change, to: str = "", quality: int = _QUALITY
) -> Any:
    """Read a picture, change it, and write it in the same or another format."""
    data = await work.read(given["inputPath"])

    def run() -> tuple[bytes, dict[str, Any]]:
        vips = _library()
        picture, found = _open(vips, data)
        made = change(vips, picture)
        form = to or found
        more = {"Q": quality} if form in _LOSSY else {}
        try:
            written = made.write_to_buffer(_FORMATS[form], keep="icc", **more)
        except vips.Error:
            raise _unreadable() from None
        told = {"width": made.width, "height": made.height, "format": form, "size": len(written)}
        return written, told

    written, told = await asyncio.to_thread(run)
    await work.write(given["outputPath"], written)
    return {"path": given["outputPath"], **told}


def _open(vips: Any, data: bytes, *, turns: bool = True) -> tuple[Any, str]:
    """Return a picture, upright, and its format.

    Raises:
        Thrown: 400, where it cannot be read, or has too many pixels.
    """
    try:
        picture = vips.Image.new_from_buffer(data, "", fail_on="truncated")
    except vips.Error:
        raise _unreadable() from None
    form = _LOADERS.get(str(picture.get("vips-loader")))
    if form is None:
        raise _unreadable()
    if picture.width * picture.height > MOST_PIXELS:
        raise Thrown(
            400, f"the picture has {picture.width} x {picture.height} pixels, at most"
            f" {MOST_PIXELS:,} are read",
        )  # fmt: skip
    try:
        return (picture.autorot() if turns else picture), form
    except vips.Error:
        raise _unreadable() from None


def _unreadable() -> Thrown:
    return Thrown(400, "this is not a supported image: jpeg, png, webp, avif, gif or tiff")


# ---- sizes
def _scale(picture: Any, width: int | None, height: int | None) -> Any:
    """Return a picture of one given side; the other follows."""
    scale = width / picture.width if width is not None else (height or 1) / picture.height
    return _resize(picture, scale)


def _resize(picture: Any, scale: float) -> Any:
    """Return a picture in proportion; of the shorter side at least a pixel is left."""
    return picture.resize(
        max(scale, 1 / picture.width), vscale=max(scale, 1 / picture.height)
    )  # fmt: skip


def _cover(_: Any, picture: Any, width: int, height: int) -> Any:
    scale = max(width / picture.width, height / picture.height)
    grown = picture.resize(scale)
    return grown.smartcrop(min(width, grown.width), min(height, grown.height), interesting="centre")


def _inside(_: Any, picture: Any, width: int, height: int) -> Any:
    return _resize(picture, min(width / picture.width, height / picture.height))


def _outside(_: Any, picture: Any, width: int, height: int) -> Any:
    return picture.resize(max(width / picture.width, height / picture.height))


def _fill(_: Any, picture: Any, width: int, height: int) -> Any:
    return picture.resize(width / picture.width, vscale=height / picture.height)


def _contain(vips: Any, picture: Any, width: int, height: int) -> Any:
    found = _inside(vips, picture, width, height)
    return found.gravity("centre", width, height, extend="black")


_FITS: Final = {
    "cover": _cover, "contain": _contain, "fill": _fill, "inside": _inside, "outside": _outside,
}  # fmt: skip


def _library() -> Any:
    """Return pyvips, told to read nothing that is risky and to keep nothing.

    Raises:
        AddonFailure: it is not installed.
    """
    try:
        import pyvips  # noqa: PLC0415 - an extra, of 20 MB
    except (ImportError, OSError):
        raise AddonFailure(
            "addon-not-installed", "imageProcessing needs pip install 'bbops[images]'"
        ) from None
    pyvips.block_untrusted_set(True)  # noqa: FBT003 - its signature
    pyvips.cache_set_max(0)
    return pyvips


async def probe(work: Work) -> str:
    """Return the version of the library, which has to be installed."""
    del work
    vips = await asyncio.to_thread(_library)
    return f"libvips {vips.version(0)}.{vips.version(1)}"


STEPS: Final = {
    "resizeImage": resize_image,
    "convertFormat": convert_format,
    "cropImage": crop_image,
    "getImageInfo": get_image_info,
}
PROBE: Final = probe
