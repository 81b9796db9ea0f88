"""The pictures of docs/label.md: handwritten digits, sorted by the answers of one who knows them.

They go to the folder that LINKSHIFT_PICTURES names; a test by itself keeps none::

    LINKSHIFT_PICTURES=docs/images python -m pytest tests/web/test_page_pictures.py
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.web.screen import Command, Screen

from linkshift.datasets import make

ROWS, ANSWERS = 600, 40
WIDE, PHONE = {"width": 1100, "height": 720}, {"width": 390, "height": 760}


@pytest.fixture(scope="module")
def digits():
    return make("digits", ROWS, random_state=0)


@pytest.fixture(scope="module")
def command(digits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    columns = {f"x{i}": column for i, column in enumerate(digits.X.T)}
    pd.DataFrame(columns).to_csv(folder / "digits.csv", index=False)
    with Command(folder, "digits.csv", "--image", "pixels:8x8", "--as", "Anna") as command:
        yield command


@pytest.fixture
def screen(command, page):
    page.set_viewport_size(WIDE)
    return Screen(page, command.address)


def keep(page, name, tmp_path):
    """Write a picture, and make sure that there is something on it."""
    from PIL import Image

    page.mouse.move(0, 0)
    page.wait_for_selector(".ls-toast", state="detached")
    page.wait_for_timeout(400)  # what fades has faded
    folder = Path(os.environ.get("LINKSHIFT_PICTURES") or tmp_path)
    path = folder / f"label_{name}.png"
    page.screenshot(path=path)
    with Image.open(path) as picture:
        assert len(np.unique(np.asarray(picture.convert("L")))) > 20
        picture.convert("RGB").save(path, optimize=True)


@pytest.mark.slow
def test_pictures_of_every_view(screen, page, digits, tmp_path):
    screen.settled()
    for _ in range(ANSWERS):
        a, b, _ = screen.question
        screen.answer("s" if digits.y[a] == digits.y[b] else "d")
    state = screen.settled()
    assert state["answers"] == ANSWERS
    keep(page, "ask", tmp_path)

    for cluster in state["clusters"][:6]:
        held = digits.y[np.array(screen.labels()) == cluster["k"]]
        screen.open_cluster(cluster["k"])
        screen.press("n")
        page.keyboard.insert_text(f"mostly {np.bincount(held).argmax()}")
        screen.press("Enter")
        screen.until("() => document.querySelector('.ls-one-cluster h2').textContent[0] === 'm'")
    keep(page, "cluster", tmp_path)

    screen.go("map")
    screen.press("0")
    page.wait_for_timeout(1500)  # the map comes to rest
    keep(page, "map", tmp_path)

    screen.go("why")
    screen.wait("[data-why]")
    keep(page, "why", tmp_path)

    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    screen.go("ask")
    screen.wait_for_pair()
    keep(page, "phone", tmp_path)
