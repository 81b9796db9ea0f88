"""Mathematics as MathML, made when the pages are built: browsers show it without a script.

They need a font for it that not all machines have; the one in the package ziamath goes with the
pages.
"""

import shutil
from html import escape
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

FONT = "STIXTwoMath-Regular.ttf"
logger = logging.getLogger(__name__)


def mathml(node: nodes.Element, display: str) -> str:
    """TeX as MathML; what cannot be turned is told as a warning, which ends the build."""
    tex = node.astext().strip()
    try:
        return str(convert(tex, display=display))
    except Exception as error:  # the converter's own errors have no common class
        logger.warning("no MathML for %r: %r", tex, error, location=node)
        return f"<code>{escape(tex)}</code>"


def visit_inline(self: Any, node: nodes.Element) -> None:
    """Write mathematics that stands in a line."""
    self.body.append(f'<span class="math">{mathml(node, "inline")}</span>')
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.Element) -> None:
    """Write mathematics that stands by itself."""
    self.body.append(f'<div class="math">{mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def copy_font(app: Sphinx, error: Exception | None) -> None:
    """Put the font where the style sheet looks for it."""
    if error is None and app.builder.format == "html":
        with as_file(files("ziamath.fonts") / FONT) as font:
            shutil.copy(font, Path(app.outdir) / "_static" / FONT)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make `html_math_renderer = "mathml"` known."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("build-finished", copy_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
