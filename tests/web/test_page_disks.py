"""Disks that are full or only to be read: said on the page, with nothing lost."""

import os
import resource
import shutil
import subprocess
import sys

import pytest
from tests.web.screen import BY_NAME, Command, Screen, entries, heaps, same_heap

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sets limits as Linux does")


def limit(command, size):
    """Let no file of a command grow beyond a size: to its writing that is a disk that is full."""
    hard = resource.RLIM_INFINITY
    resource.prlimit(command.process.pid, resource.RLIMIT_FSIZE, (size, hard))


def test_a_full_disk(tmp_path, page, page_errors):
    path = heaps(tmp_path) / "data.linkshift"
    with Command(tmp_path, *BY_NAME) as command:
        screen = Screen(page, command.address)
        screen.answer("d")
        before, asked = entries(path), screen.question
        limit(command, 4096)
        screen.press("s")
        told = screen.wait("[data-banner=refused]").text_content()
        assert "“Same” is not saved." in told
        assert "cannot be written" in told
        assert screen.question == asked
        assert screen.figure("answers") == "1"
        screen.press("d")  # and again, while nothing can be saved
        screen.until("() => document.body.textContent.includes('“Different” is not saved.')")
        screen.go("clusters")
        screen.press("ArrowDown", "n")
        page.keyboard.insert_text("Lost")
        screen.press("Enter")
        screen.until("() => document.body.textContent.includes('“Lost” is not saved.')")
        assert all(one["name"] is None for one in screen.state()["clusters"])
        screen.go("ask")
        screen.press("z")
        screen.until("() => document.body.textContent.includes('Nothing was taken back.')")
        assert entries(path) == before
        assert screen.question == asked

        limit(command, resource.RLIM_INFINITY)
        a, b, _ = asked
        screen.answer("s" if same_heap(a, b) else "d")
        assert not screen.at("[data-banner]").count()
        page.goto("about:blank")
        command.kill()
    refused = [told for told in page_errors.told if "507" in told or "500" in told or "503" in told]
    assert len(refused) == 4
    page_errors.told[:] = [told for told in page_errors.told if told not in refused]
    after = entries(path)
    assert after[:-1] == before
    assert (after[-1].body["a"], after[-1].body["b"]) == (f"r{a:02d}", f"r{b:02d}")


@pytest.fixture
def only_read(tmp_path):
    """A folder, and what makes it one that is only to be read, or to be written, too."""
    folder = tmp_path / "folder"
    folder.mkdir()
    if os.geteuid():
        yield folder, lambda yes: folder.chmod(0o555 if yes else 0o755)
        folder.chmod(0o755)
        return
    mount = shutil.which("mount")  # rights say nothing to root
    command = [str(mount), "-t", "tmpfs", "-o", "size=10m", "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("as root it takes a disk of its own, which cannot be mounted here")
    yield (
        folder,
        lambda yes: subprocess.run(
            [mount, "-o", f"remount,{'ro' if yes else 'rw'}", str(folder)], check=True
        ),
    )
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_folder_that_is_only_to_be_read(only_read, tmp_path, page, page_errors):
    folder, read_only = only_read
    heaps(tmp_path)
    path = folder / "said.linkshift"
    with Command(tmp_path, *BY_NAME, "--store", path) as command:
        command.visitor().post("/api/answer", a=3, b=20, word="different")
        command.leave()
    before = entries(path)
    read_only(True)
    try:
        with Command(tmp_path, *BY_NAME, "--store", path) as command:
            screen = Screen(page, command.address)
            told = screen.wait("[data-banner=read-only]").text_content()
            assert "Nothing can be saved." in told
            assert str(path) in told
            asked = screen.question
            for word in ("same", "different", "unknown"):
                assert screen.at(f"[data-answer={word}]").is_disabled()
            for keys, where in (("s", ".ls-outcome"), (("c", "ArrowDown", "m"), ".ls-toast")):
                screen.press(*keys)
                assert "Nothing can be saved" in screen.wait(where).text_content()
            screen.press("n", "z")
            assert not screen.at("dialog, [data-field=name]").count()
            screen.go("out")  # what there is can be taken along
            assert len(screen.download("links.csv").read_text().splitlines()) == 2
            screen.go("ask")
            assert screen.question == asked
            assert screen.figure("answers") == "1"
            page.goto("about:blank")
            command.leave()
    finally:
        read_only(False)
    assert entries(path) == before
    assert page_errors.told == []
