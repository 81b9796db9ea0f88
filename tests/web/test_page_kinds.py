"""Pictures, texts and sounds on the page; on a pair nothing of the clusters before its answer."""

import wave

import numpy as np
import pandas as pd
import pytest
from tests.web.screen import Command, Screen

from linkshift.web.items import grey_png

N = 12
BLIND = """() => {
  const pair = document.querySelector("[data-part=pair]");
  const told = [...pair.querySelectorAll(".ls-dot, .ls-mark, [style*=--dot], .ls-cluster-name")];
  return { told: told.length, text: pair.textContent };
}"""


def table(folder, **columns):
    rng = np.random.default_rng(0)
    heap = np.arange(N) % 3
    X = heap[:, None] * [8.0, 3.0] + rng.normal(scale=0.3, size=(N, 2))
    frame = pd.DataFrame({"name": [f"r{i:02d}" for i in range(N)], "x": X[:, 0], "y": X[:, 1]})
    frame.assign(**columns).to_csv(folder / "data.csv", index=False)


@pytest.fixture
def shown(tmp_path, page):
    """Give what opens the page of a folder."""
    open_now = []

    def start(*args):
        command = Command(tmp_path, "data.csv", "--id-column", "name", "--columns", "x,y", *args)
        open_now.append(command)
        return Screen(page, command.address)

    yield start
    page.goto("about:blank")
    for command in open_now:
        command.kill()


def is_blind(screen):
    """Nothing of the pair's clusters is told, on it or on the map, until one asks why."""
    screen.settled()
    found = screen.page.evaluate(BLIND)
    assert found["told"] == 0
    assert "luster" not in found["text"]
    pressed = screen.at("[data-do=pair-on-map]").get_attribute("aria-pressed")
    assert pressed == "false"
    why = screen.page.evaluate("document.querySelector('#ls-why-pair').hidden")
    assert why is True


def test_pictures(shown, tmp_path):
    rng = np.random.default_rng(1)
    for i in range(N):
        picture = np.zeros((16, 24)) + rng.random((16, 24)) * 0.3
        picture[i : i + 3] = 1
        (tmp_path / f"{i}.png").write_bytes(grey_png(picture))
    table(tmp_path, file=[f"{i}.png" for i in range(N)])
    screen = shown("--image", "file")
    is_blind(screen)
    at = "[data-part=pair] .ls-item"
    images = f"{at} img"
    screen.until(f"() => [...document.querySelectorAll('{images}')].every((i) => i.naturalWidth)")
    a, b, _ = screen.question
    sizes = "(all) => all.map((i) => [i.naturalWidth, i.naturalHeight, i.alt, i.src])"
    found = screen.page.eval_on_selector_all(images, sizes)
    assert [one[:3] for one in found] == [[24, 16, f"Picture of r{i:02d}"] for i in (a, b)]
    assert found[0][3] != found[1][3]
    style = "(one) => getComputedStyle(one).imageRendering"
    assert screen.at(images).first.evaluate(style) == "pixelated"

    def seen():
        boxes = [screen.at(at).nth(i).bounding_box() for i in (0, 1)]
        return boxes, [screen.at(at).nth(i).is_visible() for i in (0, 1)]

    (left, right), both = seen()
    assert both == [True, True]
    assert left["x"] + left["width"] <= right["x"] + 1
    for visible in ([True, False], [False, True], [True, False]):
        screen.press("f")
        boxes, now = seen()
        assert now == visible
        assert boxes[0] == boxes[1]  # one in the place of the other
    screen.press("Escape")
    assert seen()[1] == [True, True]
    screen.answer("s")
    screen.until(f"() => [...document.querySelectorAll('{images}')].every((i) => i.naturalWidth)")


def test_texts(shown, tmp_path):
    # Every pair differs in the number and the animal, and in nothing else.
    animals = [f"{'abcdefghijkl'[i] * 3}cat" for i in range(N)]
    table(tmp_path, said=[f"The {x} in house {i} sleeps" for i, x in enumerate(animals)])
    screen = shown("--text", "said")
    is_blind(screen)
    for _ in range(2):
        rows = screen.question[:2]
        for which, row in enumerate(rows):
            item = screen.at(f"[data-part=pair] [data-item='{which}']")
            text = item.locator(".ls-words")
            assert text.text_content() == f"The {animals[row]} in house {row} sleeps"
            assert item.locator("mark").all_text_contents() == [animals[row], str(row)]
        assert screen.at(".ls-legend").text_content() == "marked words differ"
        screen.answer("d")

    # Who does not label blind is told the clusters, also after a reload.
    screen.press(",")
    screen.wait("[data-setting=blind]").uncheck()
    screen.press("Escape")
    told = "() => document.querySelectorAll('[data-part=pair] .ls-mark').length === 2"
    screen.until(told)
    screen.settled()
    labels = screen.labels()
    marks = "[...document.querySelectorAll('[data-part=pair] .ls-mark')]"
    wanted = [f"Cluster {labels[row]}" for row in screen.question[:2]]
    screen.until(f"(wanted) => {marks}.map((o) => o.textContent).join() === wanted.join()", wanted)
    screen.page.reload()
    screen.until(told)


def test_sounds(shown, tmp_path):
    for i in range(N):
        with wave.open(str(tmp_path / f"{i}.wav"), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            tone = np.sin(np.arange(16000) * (0.05 + 0.02 * i)) * 9000
            file.writeframes(tone.astype("<i2").tobytes())
    table(tmp_path, file=[f"{i}.wav" for i in range(N)])
    screen = shown("--audio", "file")
    is_blind(screen)
    sounds = "[data-part=pair] audio"
    assert screen.at(sounds).count() == 2
    screen.until(f"() => [...document.querySelectorAll('{sounds}')].every((s) => s.duration === 2)")
    names = "(all) => all.map((one) => one.getAttribute('aria-label'))"
    a, b, _ = screen.question
    assert screen.page.eval_on_selector_all(sounds, names) == [
        f"{letter} of r{row:02d}" for letter, row in (("A", a), ("B", b))
    ]
    playing = (
        f"(all) => [...document.querySelectorAll('{sounds}')]"
        ".map((one) => !one.paused).join() === all"
    )
    for key, now in (("1", "true,false"), ("2", "false,true"), ("2", "false,false")):
        screen.press(key)
        screen.until(playing, now)
    screen.answer("s")
