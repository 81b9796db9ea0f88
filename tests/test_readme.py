"""The README's Python runs as it stands, and its commands exist."""

import re
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_the_python_of_the_readme_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names = {}
    exec(code, names)
    assert names["model"].n_clusters_ == 2
    assert "must-links" in capsys.readouterr().out


def test_the_make_verbs_of_the_readme_exist():
    makefile = (Path(__file__).parent.parent / "Makefile").read_text()
    verbs = set(re.findall(r"(?:`|^)make ([a-z-]+)", README, flags=re.MULTILINE))
    assert {"demo", "test", "check", "bench"} <= verbs
    for verb in verbs:
        assert re.search(rf"^{verb}:", makefile, flags=re.MULTILINE), verb
