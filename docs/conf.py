"""Settings of the documentation, built by ``make docs`` without a network."""

import sys
from datetime import date
from pathlib import Path

import linkshift

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "linkshift"
author = "The linkshift developers"
copyright = f"{date.today().year}, {author}"
version = release = linkshift.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "command_line",
]
exclude_patterns = ["_build", "_ext", "gallery/*.ipynb"]
templates_path = ["_templates"]
root_doc = "index"
smartquotes = False  # `--links` must stay what it is
nitpicky = True
nitpick_ignore_regex = [
    # The types of others (numpy, scikit-learn) are not in this site: there is no network to ask.
    (r"py:.*", r"(?!linkshift\b).*"),
    # Rooms that docstrings name for whoever reads the source.
    (r"py:.*", r"linkshift\.(_\w+|estimators|groups|metric_learning|refinement|shift|spaces)\b.*"),
]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = f"linkshift {version}"
html_static_path = ["_static"]
html_css_files = ["linkshift.css"]
html_js_files = ["opened_as_file.js"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # that page would fetch style sheets from the network
    "copyfile_regex": r".*\.rst",
    "backreferences_dir": "api/examples",
    "doc_module": ("linkshift",),
    "abort_on_example_error": False,
    "plot_gallery": True,
    "matplotlib_animations": False,
}


SCIKIT_LEARN = {"get_metadata_routing", "get_params", "set_output", "set_params"}


def leave_out(_app, _what, name, _obj, _skip, _options):
    """Leave out what every estimator of scikit-learn has; the FAQ speaks of it once."""
    request = name.startswith("set_") and name.endswith("_request")
    return True if request or name in SCIKIT_LEARN else None


def keep_together(_app, _name, source):
    """Do not break lines at the sign between a mean and its spread: tables would grow tall."""
    source[0] = source[0].replace(" ± ", "\u00a0±\u00a0")


def setup(app):
    """Connect the hooks above."""
    app.connect("autodoc-skip-member", leave_out)
    app.connect("source-read", keep_together)
