"""The site's search, where the site is a folder on somebody's disk: no server, no network."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.web.browser import browser, page, page_errors

__all__ = ["browser", "page", "page_errors"]  # fixtures; a page that logs an error fails its test

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two pages by the settings of the whole site, which takes minutes."""
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(DOCS / "conf.py", folder)
    for name in ("_ext", "_static"):
        shutil.copytree(DOCS / name, folder / name)
    pages = {
        "index": "# Words\n\n```{toctree}\nwide\n```\n",
        "wide": "# A kernel's reach\n\nIt is called the bandwidth.\n",
    }
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text)
    few = "extensions=myst_parser,sphinx.ext.autodoc,mathml"  # none that runs examples
    command = [sys.executable, "-m", "sphinx", "-W", "-b", "html", "-D", few, folder]
    done = subprocess.run([*command, folder / "html"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_search_works_where_the_site_is_opened_as_files(site, page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.locator("input[name=q]").first.fill("bandwidth")
    page.locator("input[name=q]").first.press("Enter")
    found = page.locator("#search-results li > a")
    found.first.wait_for()
    assert found.all_inner_texts() == ["A kernel's reach"]
    found.first.click()
    page.wait_for_url("**/wide.html*")
    assert asked
    assert all(url.startswith("file:") for url in asked)
