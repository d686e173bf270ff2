"""imageProcessing: pictures made smaller, cropped and converted."""

from __future__ import annotations

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, may, need, run_file
from bbops.language.expressions.types import INTEGER, TEXT, map_of

_PATHS = (
    run_file("inputPath"),
    run_file("outputPath"),
)
_PICTURE = map_of(
    {"path": TEXT, "width": INTEGER, "height": INTEGER, "format": TEXT, "size": INTEGER},
    "the picture",
)


class Config(Model):
    """Nothing to configure."""


ADDON = AddonKind(
    "Image Processing",
    "Pictures made smaller, cropped and converted.",
    Config,
    {
        "resizeImage": AddonAction(
            "Resize Image",
            "Make a picture another size; a side that is left out follows from the other.",
            (
                *_PATHS,
                may("width", "integer", limits=(1, 20_000)),
                may("height", "integer", limits=(1, 20_000)),
                may(
                    "fit",
                    "text",
                    "cover if left out",
                    options=("cover", "contain", "fill", "inside", "outside"),
                ),
            ),
            _PICTURE,
            "- imageProcessing.resizeImage: { inputPath: a.png, outputPath: b.png, width: 200 }\n"
            "  as: picture\n"
            "- return:\n"
            "    value: ${ vars.picture.height }",
            one_of=("width", "height"),
            repeat="safe",
            writes=False,
        ),
        "convertFormat": AddonAction(
            "Convert Format",
            "Write a picture in another format.",
            (
                *_PATHS,
                need("format", "text", options=("jpeg", "png", "webp", "avif", "gif", "tiff")),
                may("quality", "integer", "From 1 to 100, 80 if left out", limits=(1, 100)),
            ),
            _PICTURE,
            "- imageProcessing.convertFormat: { inputPath: a.png, outputPath: b, format: webp }",
            repeat="safe",
            writes=False,
        ),
        "cropImage": AddonAction(
            "Crop Image",
            "Cut a rectangle out of a picture, in pixels.",
            (
                *_PATHS,
                need("left", "integer"),
                need("top", "integer"),
                need("width", "integer"),
                need("height", "integer"),
            ),
            _PICTURE,
            "- imageProcessing.cropImage:\n"
            "    inputPath: a.png\n"
            "    outputPath: b.png\n"
            "    left: 0\n"
            "    top: 0\n"
            "    width: 10\n"
            "    height: 10",
            repeat="safe",
            writes=False,
        ),
        "getImageInfo": AddonAction(
            "Get Image Info",
            "Read what a picture is.",
            (run_file("inputPath"),),
            map_of(
                {
                    "width": INTEGER,
                    "height": INTEGER,
                    "format": TEXT,
                    "size": INTEGER,
                    "channels": INTEGER,
                    "space": TEXT,
                },
                "the picture",
            ),
            "- imageProcessing.getImageInfo: { inputPath: a.png }\n"
            "  as: info\n"
            "- return:\n"
            "    value: ${ vars.info.width }",
            repeat="safe",
            writes=False,
        ),
    },
)
