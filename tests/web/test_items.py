"""What is shown of rows: cells as text, files that only a cell can name, numbers as images."""

import os
import zlib

import numpy as np
import pytest

from linkshift._core.messages import Refusal
from linkshift.web.items import Items, NoMedia, grey_png, media_type, pixel_shape

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
WAV = b"RIFF\x00\x00\x00\x00WAVEfmt " + b"\0" * 40


def table(**cells):
    return Items("table", cells)


def images(folder, *paths, kind="image"):
    return Items(kind, {"note": ["?"] * len(paths), "file": [*paths]}, None, "file", folder)


def bytes_of(found):
    return found.read(0, found.size)


def test_cells_are_text():
    items = table(a=[1.0, 2.5], b=["x\u202ey", None], c=[float("nan"), True], d=["<b>", " z "])
    assert items.texts(0) == ["1", "x\ufffdy", None, "<b>"]
    assert items.texts(1) == ["2.5", None, "true", "z"]


def test_numbers_that_differ_look_different_where_they_are_short():
    items = table(a=[13.404954, 13.404953, 1 / 3, 123456.7])
    texts = [items.texts(row)[0] for row in range(4)]
    assert texts == ["13.404954", "13.404953", "0.333333", "123456.7"]


def test_a_long_cell_is_cut():
    (text,) = table(a=["x" * 100_000]).texts(0)
    assert 20_000 <= len(text) < 20_010


def test_an_image_is_what_its_bytes_say(tmp_path):
    for name, data, kind in (
        ("a.png", PNG, "image/png"),
        ("b.jpeg", b"\xff\xd8\xff\xe0aaaa", "image/jpeg"),
        ("c.txt", b"GIF89aaaa", "image/gif"),
        ("d", b"RIFF1234WEBPVP8 ", "image/webp"),
        ("e.html", b"BM12345678", "image/bmp"),
    ):
        (tmp_path / name).write_bytes(data)
        found = images(tmp_path, name).file(0, 1)
        assert (found.kind, bytes_of(found)) == (kind, data)


def test_sounds_are_known_by_their_bytes():
    starts = {
        WAV: "audio/wav",
        b"ID3\x04": "audio/mpeg",
        b"\xff\xfb\x90\x44": "audio/mpeg",
        b"OggS\0\2": "audio/ogg",
        b"fLaC\0\0": "audio/flac",
        b"\0\0\0\x20ftypM4A \0": "audio/mp4",
    }
    assert {start: media_type(start) for start in starts} == starts


HOSTILE = {
    "a.svg": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "b.png": b"<?xml version='1.0'?><svg/>",
    "c.png": b"<html><script>alert(1)</script>",
    "d.png": b"%PDF-1.7",
    "e.png": b"",
    "f.png": b"PK\x03\x04",
    "g.png": WAV,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_image_is_not_served_whatever_its_name(tmp_path, name):
    (tmp_path / name).write_bytes(HOSTILE[name])
    with pytest.raises(NoMedia) as refused:
        images(tmp_path, name).file(0, 1)
    assert str(tmp_path) not in str(refused.value)
    assert name not in str(refused.value)
    assert ("SVG" in str(refused.value)) == (b"<svg" in HOSTILE[name])


def test_an_image_is_no_sound(tmp_path):
    (tmp_path / "a.wav").write_bytes(PNG)
    with pytest.raises(NoMedia, match="sound"):
        images(tmp_path, "a.wav", kind="audio").file(0, 1)


def test_only_the_column_of_files_is_read(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    items = Items("image", {"other": ["a.png"], "file": ["a.png"]}, None, "file", tmp_path)
    assert items.file(0, 1).kind == "image/png"
    for column in (0, 2, 99, -1):
        with pytest.raises(NoMedia):
            items.file(0, column)
    with pytest.raises(NoMedia):
        table(a=["a.png"]).file(0, 0)


def test_what_a_cell_names_is_what_is_served(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.png").write_bytes(PNG + b"up")
    (tmp_path / "link.png").symlink_to(tmp_path / "a.png")
    absolute = str(tmp_path / "a.png")
    items = images(tmp_path / "inner", "../a.png", absolute, " ../link.png ")
    assert {bytes_of(items.file(row, 1)) for row in range(3)} == {PNG + b"up"}


@pytest.mark.parametrize("cell", [None, "", " ", "no.png", "a\0.png", 3, float("nan"), "x" * 5000])
def test_a_cell_that_names_no_file_is_told(tmp_path, cell):
    items = images(tmp_path, cell)
    with pytest.raises(NoMedia):
        items.file(0, 1)
    (note,) = items.notes()
    assert "1 file of column 'file' cannot be found" in note
    assert "row 0" in note


def test_folders_and_pipes_are_no_files(tmp_path):
    (tmp_path / "d.png").mkdir()
    os.mkfifo(tmp_path / "p.png")
    for name in ("d.png", "p.png", "/dev/zero"):
        with pytest.raises(NoMedia):
            images(tmp_path, name).file(0, 1)


def test_files_that_are_there_are_no_news(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    assert images(tmp_path, "a.png").notes() == []


def test_a_folder_that_is_left_is_still_the_one_meant(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(PNG)
    monkeypatch.chdir(tmp_path)
    items = images(".", "a.png")
    monkeypatch.chdir("/")
    assert items.file(0, 1).size == len(PNG)


def test_parts_of_a_file(tmp_path):
    (tmp_path / "a.wav").write_bytes(WAV)
    found = images(tmp_path, "a.wav", kind="audio").file(0, 1)
    assert found.read(3, 5) == WAV[3:8]


def unpacked(png):
    """Read a PNG of ours: height, width and pixels."""
    at, parts = 8, {}
    while at < len(png):
        n = int.from_bytes(png[at : at + 4], "big")
        name, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + n]
        assert int.from_bytes(png[at + 8 + n : at + 12 + n], "big") == zlib.crc32(name + data)
        parts[name], at = data, at + 12 + n
    width, height = (int.from_bytes(parts[b"IHDR"][i : i + 4], "big") for i in (0, 4))
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:]


def test_numbers_are_drawn_in_grey():
    assert unpacked(grey_png([[0, 5, 10], [10, 10, 0]])).tolist() == [[0, 128, 255], [255, 255, 0]]
    assert unpacked(grey_png(np.full((2, 2), 7))).tolist() == [[0, 0], [0, 0]]
    assert unpacked(grey_png([[np.nan, 2.0]])).tolist() == [[0, 255]]


def test_rows_that_are_images():
    X = np.arange(12.0).reshape(2, 6)
    items = Items("image", {"image": X}, None, "image", pixels=(2, 3))
    assert items.texts(1) == [None]
    found = items.file(1, 0)
    assert found.kind == "image/png"
    assert unpacked(bytes_of(found)).tolist() == [[0, 51, 102], [153, 204, 255]]
    assert items.notes() == []


@pytest.mark.parametrize("size", ["28", "x", "2x", "-2x3", "2x2", "²x3", "2x3x1", ""])
def test_sizes_that_are_none(size):
    with pytest.raises(Refusal):
        pixel_shape(size, 6)


def test_sizes():
    assert pixel_shape("2x3", 6) == (2, 3)
    assert pixel_shape("3X2", 6) == (3, 2)


def test_search_finds_ids_first_then_what_is_shown():
    items = Items("table", {"a": ["Berlin", "r1", "bern"]}, ["r0", "r1", "r10"])
    assert items.search("BER") == [0, 2]
    assert items.search("r1") == [1, 2]
    assert items.search(" ") == []
    assert items.search("nowhere") == []
    assert table(a=["x"] * 100).search("x") == list(range(50))
    assert table(a=["x", "2"] * 2).search("2")[0] == 2
