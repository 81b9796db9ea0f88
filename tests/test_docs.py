"""Every block of code in the README and in docs/ runs; every command that a text names exists."""

import contextlib
import importlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import warnings
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.helpers import make_verbs

import linkshift

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
COMMAND = Path(sys.executable).with_name("linkshift")

RUN = {"python", "sh"}
# Pages whose blocks need what may not be installed.
EXTRAS = {
    "embed.md": "torch",
    "many_machines.md": "dask",
    "recipes.md": "polars",
    "bertopic.md": "bertopic",
    "scanpy.md": "scanpy",
}
OTHERS = {"bertopic.md", "scanpy.md"}  # what they warn of among themselves is no fault of ours
# What a file holds: nothing to run. What the block before has printed: compared with that.
SHOWN = {"text", "text printed"}
# Directives of the site's builder, which fails by itself where they are wrong.
DIRECTIVE = re.compile(r"\{(toctree|eval-rst|include|command-line|glossary)\}")


class Block(NamedTuple):
    language: str
    code: str
    place: str


@cache
def markdown():
    return pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable("table")


def tokens(page):
    return markdown().parse(page.read_text(encoding="utf-8"))


def blocks(page):
    """All blocks of code, the indented ones too."""
    for token in tokens(page):
        if token.type in ("fence", "code_block"):
            language = token.info.strip() if token.type == "fence" else "(indented)"
            yield Block(language, token.content, f"{page.name}:{token.map[0] + 1}")


def commands(block):
    """Lines of a block of shell commands, continued ones joined, with what follows a #."""
    for line in block.code.replace("\\\n", " ").splitlines():
        words, _, remark = re.fullmatch(r"((?:[^#'\"]|'[^']*'|\"[^\"]*\")*)(#(.*))?", line).groups()
        if words.strip():
            yield shlex.split(words), remark or ""


def spoken_commands(page):
    """Commands in the text itself, `between backticks`, and in blocks that are shown only."""
    for block in blocks(page):
        if block.language == "text":
            lines = block.code.replace("\\\n", " ").splitlines()
            yield from (line for line in lines if line.startswith("linkshift "))
    for token in tokens(page):
        for child in token.children or ():
            if child.type == "code_inline":
                yield child.content


# --- what is in the blocks ------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_block_is_run_or_says_why_not(page):
    for block in blocks(page):
        known = block.language in RUN | SHOWN or DIRECTIVE.match(block.language)
        assert known, f"{block.place}: a block of {block.language!r} is not run by any test"


# The start page repeats the README with more words; the next test follows both.
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "start.md"], ids=lambda page: page.name
)
def test_the_blocks_of_a_page_run_in_their_order(page, folder, few_starts):
    if page.name in EXTRAS:
        pytest.importorskip(EXTRAS[page.name], reason="needs what is not installed")
    with warnings.catch_warnings():
        if page.name in OTHERS:
            warnings.simplefilter("default")
        run(page, inside)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/start.md"])
def test_a_new_user_can_follow_the_page(name, folder):
    run(ROOT / name, installed)


def run(page, start):
    names, printed = {"__name__": "page"}, ""
    for block in blocks(page):
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block.code, block.place, "exec"), names)
            printed = out.getvalue()
        elif block.language == "sh":
            printed = "".join(run_command(*each, block.place, start) for each in commands(block))
        elif block.language == "text printed":
            assert holds(printed, block.code), f"{block.place}: what is printed is\n{printed}"


def holds(printed, lines):
    """Whether these lines were printed, one after the other; ... is any number of lines."""
    parts = re.split(r"^\.\.\.\n", lines, flags=re.MULTILINE)
    return re.search(r"^" + r"(?:.*\n)*".join(map(re.escape, parts)), printed, flags=re.MULTILINE)


def run_command(words, remark, place, start):
    """What a `linkshift` command prints; the others set up the project or take hours."""
    if words[0] != "linkshift":
        assert check(words), f"{place}: no test knows {shlex.join(words)!r}"
        return ""
    code, printed = start(words[1:])
    expected = re.search(r"exit code (\d+)", remark)
    message = f"{place}: {shlex.join(words)}\n{printed[-4000:]}"
    assert code == (int(expected[1]) if expected else 0), message
    assert "Traceback" not in printed, message
    return printed


def installed(arguments):
    """Exit code and output of the installed command."""
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def inside(arguments):
    """The same from within this process, which has imported everything already."""
    from linkshift.cli import main

    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["linkshift", *arguments])
        patch.setattr(sys, "stdout", said)
        patch.setattr(sys, "stderr", said)
        with pytest.raises(SystemExit) as end:
            main()
    return int(end.value.code or 0), said.getvalue()


# --- what texts name ------------------------------------------------------------------------------


def check(words):
    """Whether a command is one of ours; fails when it is and names what does not exist."""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        name, _, value = words[0].partition("=")
        assert value, f"{name} has no value"
        assert name in environment_variables(), f"nothing reads {name}"
        words = words[1:]
    if words[:1] == ["make"] and len(words) > 1:
        assert words[1] in make_verbs(), f"no make {words[1]}"
    elif words[:3] == ["python", "-m", "benchmarks.run"]:
        from benchmarks.run import _parser

        _parser().parse_args(words[3:])  # exits, which fails, for a wrong name or option
    elif words[:2] == ["python", "-m"]:
        importlib.import_module(words[2])
    elif words[:2] == ["pip", "install"]:
        for extra in re.findall(r"\[(.*?)\]", " ".join(words)):
            assert set(extra.split(",")) <= extras(), f"no extra {extra}"
    elif words[:1] == ["linkshift"]:
        check_options(words[1:])
    else:
        return False
    return True


def check_options(words):
    """The command and the options that a text names exist."""
    from click import Context
    from typer.main import get_command

    from linkshift.cli.app import app

    command = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
    group = getattr(command, "commands", None)
    assert not (group and words and not words[0].startswith("-")), f"no command {words[0]}"
    for word in words:
        if word.startswith("-"):
            assert word in options, f"{command.name} has no option {word}"
    if not group:
        _, too_many, _ = command.make_parser(Context(command)).parse_args(list(words))
        assert not too_many, f"{command.name} takes no {too_many}"


def extras():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return set(project["optional-dependencies"])


@cache
def environment_variables():
    folders = ("benchmarks", "src", "tests")
    code = [path.read_text() for name in folders for path in ROOT.glob(f"{name}/**/*.py")]
    return set(re.findall(r"\"(LINKSHIFT_\w+|NUMBA_\w+|OMP_\w+)\"", "\n".join(code)))


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_in_the_text_exist(page):
    for spoken in spoken_commands(page):
        first = re.sub(r"^([A-Z_]+=\S*\s+)+", "", spoken).split(" ", 1)[0]
        if " " in spoken and first in ("make", "pip", "python", "linkshift"):
            assert check(shlex.split(spoken)), f"{page.name}: {spoken}"


LINKING = [*PAGES, *(ROOT / "docs" / "decisions").glob("*.md")]
LINKING += [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.stem)
def test_links_of_a_page_lead_somewhere(page):
    for target in targets(page):
        path, _, anchor = target.partition("#")
        if path.startswith(("api/", "gallery/")):  # made with the site, and tested there
            continue
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(file), (
                f"{page.name}: {target}, where there are {anchors(file)}"
            )


def targets(page):
    """What links and pictures of a page lead to, other sites left out."""
    for token in tokens(page):
        for child in token.children or ():
            target = child.attrs.get("href") or child.attrs.get("src")
            if target and not re.match(r"[a-z]+:", target):
                yield target


@cache
def anchors(page):
    """The names of a page's headings, as the site and code hosts make them."""
    parsed, names = tokens(page), set()
    for token, following in pairwise([*parsed, None]):
        if token.type == "heading_open":
            title = "".join(child.content for child in following.children).lower()
            names.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
        elif token.type == "fence" and token.info.startswith("{include}"):
            names |= anchors(page.parent / token.info.split()[1])
    return names


PICTURED = "mean_shift constrained_mean_shift kernel_mean_shift metric_mean_shift group_features"
PICTURED += " image_segmentation consensus records scale embed"


@pytest.mark.parametrize("name", PICTURED.split())
def test_a_method_has_pictures_and_its_page_says_what_makes_them(name):
    page = ROOT / "docs" / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    modules = re.findall(r"python -m (benchmarks\.[\w.]*picture\w*)", text)
    code = [(ROOT / f"{module.replace('.', '/')}.py").read_text() for module in modules]
    saved = "".join([*code, *re.findall(r"savefig\(.*\)", text)])
    pictures = [target for target in targets(page) if target.startswith("images/")]
    assert pictures, f"{name}.md has no picture"
    for picture in pictures:
        stem = Path(picture).stem
        made = f"{stem}.png" in saved or f'"{stem.partition("_")[2]}"' in saved
        assert made, f"{name}.md shows {picture} and names no command that makes it"


def test_anchors_are_those_of_code_hosts(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# All of it, `links=None`\n\n## Why? (in *short*)\n\ntext\n\n### A paper's k\n"
    )
    assert anchors(page) == {"all-of-it-linksnone", "why-in-short", "a-papers-k"}


def test_what_is_printed_is_compared_line_by_line():
    printed = "a\nb b\nc\nd\n"
    for lines in ("a\n", "b b\nc\n", "a\n...\nd\n", "a\n...\nb b\n"):
        assert holds(printed, lines)
    for lines in ("e\n", "a\nc\n", "b\nc\n", "c\n...\na\n", ".\n"):
        assert not holds(printed, lines)


def test_wrong_names_would_be_found():
    for wrong in (
        "make nonsense",
        "python -m benchmarks.run nonsense",
        "LINKSHIFT_NONSENSE=1 make test",
        "pip install linkshift[nonsense]",
        "linkshift nonsense",
        "linkshift cluster data.csv --nonsense",
        "linkshift cluster data.csv nonsense.csv",
    ):
        with pytest.raises((AssertionError, SystemExit)):
            check(shlex.split(wrong))
    assert not check(["rm", "-rf", "docs"])


def test_the_reference_names_everything_that_is_public():
    text = (ROOT / "docs" / "api.md").read_text()
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    modules = ("links", "metrics", "plot", "image", "model_files", "bandwidth", "profiles")
    modules += (
        "active",
        "datasets",
        "baselines",
        "methods",
        "explain.explanation",
        "report",
        "anndata",
        "embed",
        "scale",
        "scale.dask",
    )
    for name in modules:
        public = name in linkshift.__all__
        module = (
            getattr(linkshift, name) if public else importlib.import_module(f"linkshift.{name}")
        )
        (section,) = [s for s in sections if f"automodule:: {module.__name__}\n" in s]
        missing = [found for found in module.__all__ if not re.search(rf"\b{found}\b", section)]
        assert not missing, (name, missing)
    entries = set(re.findall(r"^   (?:\w+\.)?(\w+)$", text, flags=re.MULTILINE)) | set(modules)
    assert set(linkshift.__all__) <= entries, set(linkshift.__all__) - entries


# --- where pages are followed ---------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, as a reader has it: pages make the files that they name. No windows."""
    for module in ("pandas", "skimage", "anndata"):
        pytest.importorskip(module)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    pyplot.close("all")


# --- the site -------------------------------------------------------------------------------------

# Whatever a browser fetches by itself; links that a person may follow are no matter.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed|object|link)\b[^>]*?"
    r"\b(?:src|href|data)\s*=\s*[\"']?\s*(?:https?:)?//[^>]*>|"
    r"@import\s+[^;]*//[^;]*;|url\(\s*[\"']?(?:https?:)?//[^)]*\)",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    ("html", "fetched"),
    [
        ('<script src="https://cdn.example/a.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', True),
        ("<style>@import url(https://a.example/b.css);</style>", True),
        ('<img class="x" src="http://a.example/b.png">', True),
        ('<a href="https://a.example">read</a>', False),
        ('<script src="_static/a.js"></script>', False),
    ],
)
def test_what_a_browser_fetches(html, fetched):
    assert bool(FETCHED.search(html)) == fetched


@pytest.mark.slow
def test_the_site_is_built_without_warnings_and_needs_no_network(tmp_path):
    pytest.importorskip("sphinx_gallery")
    pytest.importorskip("furo")
    source = tmp_path / "docs"
    left_out = shutil.ignore_patterns("_build", "api", "gallery")
    for name in ("docs", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=left_out if name == "docs" else None)
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tmp_path)
    html = tmp_path / "html"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-b", "html", source, html],
        capture_output=True,
        text=True,
        # A proxy that nobody listens at: whoever asks the network fails.
        env=os.environ | {f"{scheme}_proxy": "http://127.0.0.1:9" for scheme in ("http", "https")},
    )
    assert done.returncode == 0, done.stderr[-6000:]
    pages = list(html.rglob("*.html"))
    assert len(pages) > 50
    for file in [*pages, *html.rglob("*.css")]:
        found = FETCHED.search(file.read_text(encoding="utf-8"))
        assert not found, f"{file.relative_to(html)}: {found[0]}"
    for name in ("index", "command_line", "constrained_mean_shift", "gallery/index"):
        assert (html / f"{name}.html").exists()
    assert "<math" in (html / "constrained_mean_shift.html").read_text()
    assert "--links" in (html / "command_line.html").read_text()
    pictures = {p.name for p in html.glob("_images/sphx_glr_plot_*.png")}
    for example in (ROOT / "examples" / "gallery").glob("plot_*.py"):
        assert any(p.startswith(f"sphx_glr_{example.stem}_0") for p in pictures), example.name
