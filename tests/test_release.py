"""What goes with a release agrees: version, citation, recipe, workflows, wheel, lowest versions."""

import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from release import conda, contents, inside, lowest, project, ready, tryout
from tests.helpers import make_verbs

import linkshift

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))
FILES = [
    *WORKFLOWS,
    *FORMS,
    ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml",
    ROOT / ".github" / "dependabot.yml",
    ROOT / ".pre-commit-config.yaml",
    ROOT / ".readthedocs.yaml",
    ROOT / "CITATION.cff",
    conda.RECIPE,
]
PAPERS = 5


def read(path):
    return pytest.importorskip("yaml").safe_load(path.read_text(encoding="utf-8"))


def steps(workflow):
    """Jobs of a workflow and their steps."""
    return [(job, step) for job in read(workflow)["jobs"].values() for step in job["steps"]]


def minor_versions():
    """Versions of Python that the package says it is for."""
    said = [one.rpartition(" ")[2] for one in project.declared()["classifiers"]]
    return {one for one in said if re.fullmatch(r"3\.\d+", one)}


# --- one version ----------------------------------------------------------------------------------


def test_all_say_the_same_version():
    said = {"pip": metadata.version("linkshift"), "build": contents.version()}
    said["citation"] = read(ROOT / "CITATION.cff")["version"]
    said["recipe"] = read(conda.RECIPE)["package"]["version"]
    assert said == dict.fromkeys(said, linkshift.__version__)


def test_the_command_says_it():
    command = Path(sys.executable).with_name("linkshift")
    if not command.exists():
        pytest.skip("the command is not installed beside this Python")
    told = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == f"linkshift {linkshift.__version__}"


def test_the_documentation_takes_it_from_the_package():
    assert "version = release = linkshift.__version__" in (ROOT / "docs" / "conf.py").read_text()


def test_it_stands_nowhere_else():
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert linkshift.__version__ not in pyproject


FILLED_IN = {
    "pyproject.toml": '[project]\n[project.urls]\nSource = "https://a.example"\n',
    "CITATION.cff": "repository-code: https://a.example\ndate-released: 2030-01-02\n",
    "SECURITY.md": "Write to security@a.example",
    "CODE_OF_CONDUCT.md": "Write to conduct@a.example",
    "CHANGELOG.md": "# Changelog\n\n## 1.0.0\n\nFirst.\n",
}
LEFT_OUT = {
    "pyproject.toml": ("[project.urls]", "# [project.urls]", 1),
    "CITATION.cff": ("", "# ", 2),
    "SECURITY.md": ("security@a.example", "SECURITY-ADDRESS", 1),
    "CODE_OF_CONDUCT.md": ("conduct@a.example", "CONDUCT-ADDRESS", 1),
    "CHANGELOG.md": ("1.0.0", "Unreleased", 1),
}


def test_a_release_with_all_filled_in_is_ready():
    assert set(FILLED_IN) == set(ready.FILES)
    assert ready.missing("1.0.0", FILLED_IN) == []


@pytest.mark.parametrize("name", FILLED_IN)
def test_what_is_not_filled_in_is_told(name):
    full, bare, n = LEFT_OUT[name]
    text = "".join(line.replace(full, bare, 1) for line in FILLED_IN[name].splitlines(True))
    told = ready.missing("1.0.0", {**FILLED_IN, name: text})
    assert len(told) == n
    assert all(one.startswith(f"{name}: ") for one in told)


@pytest.mark.parametrize("version", ["1.0.0.dev0", "1.0"])
def test_a_version_under_work_is_not_ready(version):
    changelog = FILLED_IN["CHANGELOG.md"].replace("1.0.0", version)
    (told,) = ready.missing(version, {**FILLED_IN, "CHANGELOG.md": changelog})
    assert version in told


# --- citation -------------------------------------------------------------------------------------


def test_citation_is_of_this_project():
    cited, declared = read(ROOT / "CITATION.cff"), project.declared()
    assert cited["title"] == declared["name"]
    assert cited["license"] == declared["license"]
    assert cited["keywords"] == declared["keywords"]
    assert cited["abstract"] == declared["description"]
    assert [one["name"] for one in cited["authors"]] == [one["name"] for one in declared["authors"]]


def test_citation_names_the_papers_as_the_documentation_does():
    papers = read(ROOT / "CITATION.cff")["references"]
    methods = (ROOT / "docs" / "methods.md").read_text()
    assert len(papers) == PAPERS
    for paper in papers:
        if paper["type"] == "slides":
            assert "lecture on k-means and mean shift" in methods
            continue
        assert f"*{paper['title']}*" in methods
        row = next(line for line in methods.splitlines() if f"*{paper['title']}*" in line)
        assert str(paper["year"]) in row
        assert all(author["family-names"] in row for author in paper["authors"])
        assert hasattr(linkshift, paper["notes"])
        assert f"`{paper['notes']}`" in row


# --- files of hosts -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_yaml_can_be_read(path):
    assert read(path)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_there_is(path):
    for _, step in steps(path):
        words = step.get("run", "")
        for verb in re.findall(r"\bmake ([a-z-]+)", words):
            assert verb in make_verbs(), f"no make {verb}"
        for script in re.findall(r"\bbash (\S+)", words):
            assert (ROOT / script).is_file()
        for module in re.findall(r"python -m (release\.\w+)", words):
            assert (ROOT / f"{module.replace('.', '/')}.py").is_file()
        for named in re.findall(r"\.\[(.*?)\]", words):
            assert set(named.split(",")) <= set(project.declared()["optional-dependencies"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_no_more_than_they_must(path):
    assert read(path)["permissions"] == {"contents": "read"}
    for name, job in read(path)["jobs"].items():
        assert job["timeout-minutes"]
        may = {"id-token": "write"} if name == "publish" else None
        assert job.get("permissions") == may
    for _, step in steps(path):
        assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step.get("uses", "a/a@v1"))
        # What somebody outside has written, such as a branch's name, would be run.
        assert "${{ github" not in step.get("run", "")
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"] == {"persist-credentials": False}


def test_only_a_tag_publishes_and_only_what_was_tried():
    jobs = read(ROOT / ".github" / "workflows" / "wheel.yml")["jobs"]
    assert "github.ref_type == 'tag'" in jobs["publish"]["if"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}


def test_the_matrix_has_every_python_that_is_claimed():
    matrix = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["matrix"]["strategy"]
    assert minor_versions() <= set(matrix["matrix"]["python"])
    lowest_python = min(minor_versions(), key=lambda one: int(one[2:]))
    assert project.declared()["requires-python"] == f">={lowest_python}"


def test_hooks_are_those_of_make_check():
    hooks = [
        hook for repo in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]
    ]
    run = (ROOT / "Makefile").read_text().partition("\ncheck: ")[2].partition("\n\n")[0]
    tools = set(re.findall(r"\$\(BIN\)/([\w-]+)", run))
    assert {Path(hook["entry"].split()[0]).name for hook in hooks} == tools
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks)


def test_the_documentation_is_built_with_what_it_needs():
    settings = read(ROOT / ".readthedocs.yaml")
    assert (ROOT / settings["sphinx"]["configuration"]).is_file()
    (install,) = settings["python"]["install"]
    assert set(install["extra_requirements"]) <= set(project.declared()["optional-dependencies"])
    assert settings["build"]["tools"]["python"] in minor_versions()


@pytest.mark.parametrize("name", ["README.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "LICENSE"])
def test_papers_are_there(name):
    assert (ROOT / name).read_text(encoding="utf-8").strip()


# --- what is declared -----------------------------------------------------------------------------


def test_every_dependency_has_a_lowest_version_and_no_highest():
    needed = [*project.declared()["dependencies"], *project.requirements(*project.extras())]
    for one in needed:
        assert re.fullmatch(r"[A-Za-z0-9_.-]+(\[[a-z,]+\])?>=[0-9.]+", one), one
    assert len(lowest.lowest()) == len({re.split(r"\W*[>=\[]", one)[0] for one in needed})
    assert all("==" in one and "[" not in one for one in lowest.lowest())


def test_lowest_versions_as_constraints():
    assert lowest.constraint("dask[array,dataframe]>=2026.8") == "dask==2026.8"
    assert lowest.constraint("opencv-python-headless>=4.9") == "opencv-python-headless==4.9.*"


def test_extras_are_resolved():
    assert project.parts("plot") == ["plot"]
    assert {"plot", "cli", "image"} <= set(project.parts("all")) <= set(project.extras())
    assert set(project.requirements("plot")) <= set(project.requirements("all"))
    assert not any(one.startswith("linkshift") for one in project.requirements("dev"))
    assert {"all", *project.TOOLS}.isdisjoint(project.extras())


def test_every_extra_is_tried_inside_an_environment():
    assert set(inside.CHECKS) == set(project.extras())


def test_every_extra_is_told_of_on_the_page_on_installing():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page, flags=re.MULTILINE))
    assert set(told) == {*project.extras(), "all"}
    for name in project.extras():
        for one in project.declared()["optional-dependencies"][name]:
            assert re.split(r"[>\[]", one)[0] in told[name] or one.startswith("linkshift")
    for name in project.TOOLS:
        assert f"`{name}`" in page


@pytest.mark.skipif(sys.platform == "win32", reason="there PATH is left as it is")
def test_a_wheel_is_tried_where_there_is_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    inside.no_compiler()
    (tmp_path / "gcc").write_text("#!/bin/sh\n")
    (tmp_path / "gcc").chmod(0o755)
    with pytest.raises(AssertionError, match="on PATH"):
        inside.no_compiler()


@pytest.mark.skipif(sys.platform == "win32", reason="there PATH is left as it is")
def test_what_tries_a_wheel_has_nothing_but_its_environment(tmp_path):
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    see = "from os import environ; assert environ['PATH'] == {!r} and 'no-comp' in environ['CC']"
    tryout.run(str(python), "-c", see.format(str(tmp_path)))
    with pytest.raises(SystemExit, match="failed"):
        tryout.run(str(python), "-c", see.format("/usr/bin"))


def test_the_recipe_is_that_of_the_project():
    said = conda.RECIPE.read_text(encoding="utf-8")
    assert said == conda.recipe(), "run `python -m release.conda`"
    run = read(conda.RECIPE)["requirements"]["run"]
    assert len(run) == 1 + len(project.declared()["dependencies"]) + len(
        project.requirements("all")
    )


def test_a_recipe_takes_names_and_lower_bounds_only():
    assert conda.conda("matplotlib>=3.8") == "matplotlib-base >=3.8"
    assert conda.conda("dask[array,dataframe]>=2026.8") == "dask >=2026.8"
    with pytest.raises(ValueError, match="lower bound"):
        conda.conda("numpy")


# --- what a wheel holds ---------------------------------------------------------------------------

INFO = "linkshift-1.0.dist-info"
PACKAGE = {"linkshift/__init__.py", "linkshift/py.typed", "linkshift/active/prior.json"}
WHEEL = PACKAGE | {
    f"{INFO}/{one}"
    for one in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
}
NAME = "linkshift-1.0-py3-none-any.whl"


def test_a_right_wheel_has_no_problem():
    assert contents.wheel_problems(NAME, WHEEL, PACKAGE, "1.0") == []


@pytest.mark.parametrize("name", sorted(WHEEL))
def test_a_wheel_without_one_of_its_files(name):
    assert contents.wheel_problems(NAME, WHEEL - {name}, PACKAGE, "1.0") == [f"{NAME} lacks {name}"]


@pytest.mark.parametrize("name", ["tests/test_a.py", "linkshift/old.py", "linkshift/a.nbi"])
def test_a_wheel_with_more_than_the_source(name):
    found = contents.wheel_problems(NAME, WHEEL | {name}, PACKAGE, "1.0")
    assert found == [f"{NAME} should not have {name}"]


def test_a_data_set_in_the_source_is_no_part_of_a_wheel():
    stray = {"linkshift/datasets/mnist.npz"}
    found = contents.wheel_problems(NAME, WHEEL | stray, PACKAGE | stray, "1.0")
    assert found == [f"{NAME} should not have linkshift/datasets/mnist.npz"]


def test_a_wheel_of_another_version():
    assert any("not for 1.1" in one for one in contents.wheel_problems(NAME, WHEEL, PACKAGE, "1.1"))


def test_an_sdist_has_what_is_committed_and_no_data():
    committed = {"tests/test_a.py", "docs/index.md"}
    files = {f"linkshift-1.0/{one}" for one in committed}
    files |= {f"linkshift-1.0/{one}" for one in ("pyproject.toml", "README.md", "LICENSE")}
    name = "linkshift-1.0.tar.gz"
    assert contents.sdist_problems(name, files, committed, "1.0") == []
    assert contents.sdist_problems(name, files - {"linkshift-1.0/LICENSE"}, committed, "1.0") == [
        f"{name} lacks linkshift-1.0/LICENSE"
    ]
    for odd in ("a.npz", "tests/__pycache__/a.py", ".ruff_cache/a", "src/linkshift/a.nbc"):
        found = contents.sdist_problems(name, files | {f"linkshift-1.0/{odd}"}, committed, "1.0")
        assert found == [f"{name} should not have linkshift-1.0/{odd}"]


def test_files_have_a_largest_size(tmp_path):
    path = tmp_path / NAME
    path.write_bytes(bytes(2000))
    assert contents.too_large(path, 0.002) == []
    assert contents.too_large(path, 0.001) == [f"{NAME} has 0.0 MB: more than 0.001"]


def test_a_folder_with_an_older_wheel_is_refused(tmp_path, capsys):
    for version in ("0.9", "1.0"):
        with zipfile.ZipFile(tmp_path / f"linkshift-{version}-py3-none-any.whl", "w") as archive:
            archive.writestr("linkshift/__init__.py", "")
    assert contents.main(str(tmp_path)) == 1
    assert "no older ones" in capsys.readouterr().err


def test_the_package_is_made_of_files_of_known_kinds():
    kinds = {Path(name).suffix for name in contents.package_files()}
    assert kinds <= contents.KINDS
    assert {"linkshift/py.typed", "linkshift/active/prior.json"} < contents.package_files()
