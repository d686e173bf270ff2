"""imageProcessing does what it says to real pictures, and refuses what is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pyvips

from tests.vendors.asking import Asked

FILES = "files: { file: { maxSize: 20MB } }\n"
READ = "  - imageProcessing.getImageInfo: { inputPath: out }\n    as: info\n"
RETURN = "  - return: { value: { it: '${ vars.it }', info: '${ vars.info }' } }\n"
LANDSCAPE = pyvips.Image.black(400, 200, bands=3).linear([1, 1, 1], [200, 30, 40])


def picture(form: str = ".png", image: Any = LANDSCAPE) -> bytes:
    data: bytes = image.cast("uchar").copy(interpretation="srgb").write_to_buffer(form)
    return data


def do(box: Path, step: str, sent: bytes, kind: str = "image/png") -> Any:
    """Do a step to a file, which is its `inputPath`; return the answer."""
    given = step.replace("{", "{ inputPath: '${ input.file.path }', outputPath: out,", 1)
    steps = f"steps:\n  - imageProcessing.{given}\n    as: it\n{READ}{RETURN}"
    return Asked(box, "imageProcessing", "", steps, env={}, more=FILES).send(sent, kind)


def size(reply: Any) -> tuple[int, int]:
    assert reply.status == 200, reply.body
    made, info = reply.json["it"], reply.json["info"]
    assert (made["width"], made["height"], made["size"]) == (
        info["width"],
        info["height"],
        info["size"],
    )
    return made["width"], made["height"]


@pytest.mark.parametrize(("given", "made"), [
    ("width: 100", (100, 50)),
    ("height: 50", (100, 50)),
    ("width: 100, height: 100", (100, 100)),
    ("width: 100, height: 100, fit: cover", (100, 100)),
    ("width: 100, height: 100, fit: contain", (100, 100)),
    ("width: 100, height: 100, fit: fill", (100, 100)),
    ("width: 100, height: 100, fit: inside", (100, 50)),
    ("width: 100, height: 100, fit: outside", (200, 100)),
    ("width: 800, height: 800, fit: cover", (800, 800)),
    ("width: 1", (1, 1)),
])  # fmt: skip
def test_a_picture_gets_another_size(tmp_path: Path, given: str, made: tuple[int, int]) -> None:
    assert size(do(tmp_path, f"resizeImage: {{ {given} }}", picture())) == made


@pytest.mark.parametrize("form", ["jpeg", "png", "webp", "avif", "gif", "tiff"])
def test_a_picture_is_written_in_every_format(tmp_path: Path, form: str) -> None:
    reply = do(tmp_path, f"convertFormat: {{ format: {form} }}", picture())
    assert size(reply) == (400, 200)
    assert (reply.json["it"]["format"], reply.json["info"]["format"]) == (form, form)


def test_quality_makes_smaller_files(tmp_path: Path) -> None:
    noise = pyvips.Image.gaussnoise(300, 300, mean=128, sigma=40)
    sent = picture(".png", noise.bandjoin([noise, noise]))
    sizes = [
        do(tmp_path, f"convertFormat: {{ format: jpeg, quality: {one} }}", sent).json["it"]["size"]
        for one in (20, 90)
    ]
    assert sizes[0] < sizes[1] / 2


def test_a_rectangle_is_cut_out(tmp_path: Path) -> None:
    reply = do(tmp_path, "cropImage: { left: 10, top: 20, width: 30, height: 40 }", picture())
    assert size(reply) == (30, 40)


def test_a_rectangle_outside_is_the_requests_fault(tmp_path: Path) -> None:
    reply = do(tmp_path, "cropImage: { left: 390, top: 0, width: 11, height: 1 }", picture())
    assert (reply.status, reply.json["error"]["message"]) == (
        400, "the rectangle is outside the image of 400 x 200 pixels",
    )  # fmt: skip


def test_a_picture_that_lies_on_its_side_is_turned_upright(tmp_path: Path) -> None:
    turned = LANDSCAPE.cast("uchar").copy(interpretation="srgb")
    turned.set_type(pyvips.GValue.gint_type, "orientation", 6)
    data = turned.write_to_buffer(".jpg")
    assert size(do(tmp_path, "convertFormat: { format: png }", data, "image/jpeg")) == (200, 400)


def test_where_a_picture_was_taken_is_not_passed_on(tmp_path: Path) -> None:
    placed = LANDSCAPE.cast("uchar").copy(interpretation="srgb")
    placed.set_type(
        pyvips.GValue.gstr_type, "exif-ifd3-GPSLatitude", "52/1 30/1 0/1 (52, 30, 0, Rational)"
    )
    data = placed.write_to_buffer(".jpg")
    assert b"Exif" in data
    step = "convertFormat: { format: jpeg }"
    given = step.replace("{", "{ inputPath: '${ input.file.path }', outputPath: out.jpg,", 1)
    steps = f"steps:\n  - imageProcessing.{given}\n  - return: {{ file: out.jpg }}\n"
    reply = Asked(tmp_path, "imageProcessing", "", steps, env={}, more=FILES).send(
        data, "image/jpeg"
    )
    assert (reply.status, reply.headers["content-type"]) == (200, "image/jpeg")
    assert b"Exif" not in reply.body


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>'
BAD = {
    "text": b"not a picture at all", "empty": b"", "svg": SVG,
    "pdf": b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF",
    "half": picture(".jpg")[:700], "broken": picture()[:60] + b"\xff" * 500,
    "ppm": b"P6 2 2 255 " + b"\0" * 12,
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_picture_is_the_requests_fault(tmp_path: Path, name: str) -> None:
    reply = do(tmp_path, "resizeImage: { width: 5 }", BAD[name], "application/octet-stream")
    assert reply.status == 400, reply.body
    assert reply.json["error"]["message"].startswith("this is not a supported image")


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bomb = pyvips.Image.black(30_000, 30_000).write_to_buffer(".png")
    assert len(bomb) < 2_000_000
    reply = do(tmp_path, "resizeImage: { width: 5 }", bomb)
    assert reply.status == 400
    assert "30000 x 30000 pixels, at most 50,000,000 are read" in reply.json["error"]["message"]


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/b", ".hidden", "", "x" * 101, "a\\b"])
def test_a_file_is_written_nowhere_but_in_the_folder_of_the_run(tmp_path: Path, name: str) -> None:
    steps = (
        "input: { name: string }\nsteps:\n  - imageProcessing.convertFormat:\n"
        "      inputPath: ${ input.file.path }\n      outputPath: ${ input.name }\n"
        "      format: png\n"
    )
    asked = Asked(tmp_path, "imageProcessing", "", steps, env={}, more=FILES)
    reply = asked.send(picture(), "image/png", fields={"name": name})
    assert reply.status in {400, 500}
    assert b"PNG" not in reply.body
    assert not [one for one in tmp_path.rglob("*") if one.is_file()]
