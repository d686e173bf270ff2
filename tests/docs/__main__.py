"""Write the pages of docs/language, and the lists of codes: `python -m tests.docs`."""

from __future__ import annotations

from tests.docs.agent_tools import PAGE as AGENT_TOOLS
from tests.docs.agent_tools import agent_tools_page
from tests.docs.codes import FOLDER as ERRORS
from tests.docs.codes import index
from tests.docs.marks import PAGES, with_sentence
from tests.docs.pages import FOLDER, pages
from tests.docs.plan_codes import PAGE, plans_page

if __name__ == "__main__":
    wanted = pages()
    for old in {*FOLDER.rglob("*.md")} - {FOLDER / path for path in wanted}:
        old.unlink()
    for path, text in wanted.items():
        (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / path).write_text(text)
    ERRORS.with_suffix(".md").write_text(index())
    for path in PAGES:
        path.write_text(with_sentence(path.read_text()))
    PAGE.write_text(plans_page())
    AGENT_TOOLS.write_text(agent_tools_page())
    print(f"{len(wanted)} pages in {FOLDER.name}/")
