"""What the page is told of the whole."""

from tests.web.pages import LABELS, get, material_of, post

from linkshift.web.items import Items
from linkshift.web.material import Material


async def state(desk):
    return await get(desk, "/api/state")


def test_the_column_of_images_is_named_by_its_place(at):
    X = material_of().X
    cells = {"note": ["x"] * 12, "file": ["a.png"] * 12}

    async def media(desk):
        return (await state(desk))["media"]

    assert at(media, material=Material(X, Items("image", cells, None, "file"))) == [1]
    assert at(media, material=Material(X, Items("text", cells))) == []


def test_it_is_said_while_clusters_are_those_of_before(at):
    async def test(desk):
        assert (await state(desk))["refitting"]
        desk.engine.cluster(LABELS)
        assert not (await state(desk))["refitting"]
        said = await post(desk, "/api/answer", a=0, b=5, word="same")
        assert said["state"]["refitting"]
        desk.engine.cluster(LABELS)
        assert not (await state(desk))["refitting"]
        desk.engine.phase = "failed: of a reason"
        assert not (await post(desk, "/api/answer", a=0, b=6, word="same"))["state"]["refitting"]

    at(test)


def test_a_name_makes_nothing_look_unfinished(at):
    async def test(desk):
        desk.engine.cluster(LABELS)
        desk.engine.offer()
        await post(desk, "/api/answer", a=0, b=1, word="different")
        desk.engine.cluster(LABELS)
        desk.engine.offer()
        assert (await state(desk))["finished"]
        await post(desk, "/api/name", cluster=0, name="x")
        found = await state(desk)
        assert found["finished"]
        assert not found["refitting"]
        assert len((await get(desk, "/api/doctor"))["doubts"]) == 1

    at(test)


def test_both_names_of_clusters_that_became_one_are_told(at):
    async def test(desk):
        desk.engine.cluster(LABELS)
        await post(desk, "/api/name", cluster=0, name="cats")
        await post(desk, "/api/name", cluster=1, name="dogs")
        desk.engine.cluster([0] * 8 + [2] * 4)
        found = [(one["name"], one["also"]) for one in (await state(desk))["clusters"]]
        assert found == [("cats", ["dogs"]), (None, [])]
        await post(desk, "/api/name", cluster=0, name="pets")
        found = [(one["name"], one["also"]) for one in (await state(desk))["clusters"]]
        assert found[0] == ("pets", ["dogs"])

    at(test)


def test_nothing_is_finished_before_it_is_known_what_was_set_aside(at):
    async def test(desk):
        desk.engine.cluster(LABELS)
        await post(desk, "/api/answer", a=0, b=1, word="same")
        desk.engine.offer()  # of the new log; the labels are of the old one
        assert not (await state(desk))["finished"]
        desk.engine.cluster(LABELS)
        assert (await state(desk))["finished"]

    at(test)


def test_what_has_failed_is_told_with_a_remedy_and_tried_again(at):
    async def test(desk):
        assert (await post(desk, "/api/again", 409))["error"] == "Nothing has failed."
        desk.engine.phase, desk.engine.remedy = "failed: no memory", "Make room."
        found = await state(desk)
        assert (found["phase"], found["remedy"]) == ("failed: no memory", "Make room.")
        assert (await post(desk, "/api/again"))["state"]["phase"] == "looking"

    at(test)
