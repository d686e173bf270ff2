"""htmlToPdf: PDF files out of HTML."""

from __future__ import annotations

from bbops.base.model import Model
from bbops.language.addons._base import AddonAction, AddonKind, may, need, run_file
from bbops.language.expressions.types import INTEGER, TEXT, map_of
from bbops.runtime.vendors.html_to_pdf import read_margins, read_url

_FORMAT = may(
    "format", "text", "A4 if left out", options=("A4", "Letter", "Legal", "A3", "A5", "Tabloid")
)
_FILE = map_of({"path": TEXT, "size": INTEGER}, "the file")


class Config(Model):
    """Nothing to configure."""


ADDON = AddonKind(
    "HTML to PDF",
    "PDF files out of HTML.",
    Config,
    {
        "generatePdf": AddonAction(
            "Generate PDF",
            "Print HTML to a file of this run.",
            (
                need("html", "text", "Text from expressions is escaped", is_html=True),
                run_file("outputPath"),
                _FORMAT,
                may("landscape", "boolean", "false if left out"),
                may(
                    "margin",
                    "map",
                    "`top`, `right`, `bottom` and `left`, such as 20mm; 10mm if left out",
                    read=read_margins,
                ),
                may(
                    "headerTemplate",
                    "text",
                    "Classes: date, title, url, pageNumber, totalPages",
                    is_html=True,
                ),
                may("footerTemplate", "text", "As the header", is_html=True),
            ),
            _FILE,
            "- htmlToPdf.generatePdf:\n"
            "    html: <h1>Hello</h1>\n"
            "    outputPath: hello.pdf\n"
            "    margin: { top: 20mm, bottom: 20mm }",
            repeat="safe",
            writes=False,
        ),
        "generatePdfFromUrl": AddonAction(
            "Generate PDF from URL",
            "Print a page of the web to a file of this run.",
            (
                need("url", "text", "Of http or https", read=read_url),
                run_file("outputPath"),
                _FORMAT,
                may("waitForSelector", "text", "A CSS selector that must be there first"),
            ),
            _FILE,
            "- htmlToPdf.generatePdfFromUrl: { url: https://example.com, outputPath: page.pdf }",
            repeat="safe",
            writes=False,
        ),
    },
    any_host=True,
)
