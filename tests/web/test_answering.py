"""Questions and answers at the desk: what comes with them, and what an undo asks again."""

import pytest
from tests.web.pages import LABELS, get, post


def test_the_rows_of_the_next_pair_come_with_it(at):
    async def test(desk):
        assert (await get(desk, "/api/next"))["rows"] == []
        desk.engine.offer((2, 5), (3, 6))
        found = await get(desk, "/api/next")
        assert found["rows"] == (await get(desk, "/api/rows", rows="2,5"))["rows"]
        said = await post(desk, "/api/answer", a=2, b=5, word="different")
        assert [row["row"] for row in said["rows"]] == [3, 6]
        assert [row["row"] for row in (await post(desk, "/api/undo"))["rows"]] == [2, 5]

    at(test)


def test_an_action_that_answers_the_question_gives_it_back_when_it_is_undone(at):
    async def test(desk):
        desk.engine.cluster(LABELS)
        desk.engine.offer((1, 5), (2, 9))
        asked = (await get(desk, "/api/next"))["questions"][0]
        links = [{"a": 0, "b": 4, "word": "same"}, {"a": 0, "b": 1, "word": "same"},
                 {"a": 4, "b": 5, "word": "same"}]  # fmt: skip
        said = await post(desk, "/api/act", do="merge", links=links, asked=asked["key"])
        assert [one["key"] for one in said["questions"]] == ["2-9-learn"]
        desk.engine.offer((2, 9))  # by what was said
        undone = await post(desk, "/api/undo")
        assert undone["question"] == asked

    at(test)


@pytest.mark.parametrize("asked", ["2-9-learn", "0-1-learn", None, 7, {"a": 1}])
def test_an_action_beside_the_question_gives_none_back(at, asked):
    async def test(desk):
        desk.engine.cluster(LABELS)
        desk.engine.offer((1, 5), (2, 9))
        links = [{"a": 0, "b": 4, "word": "same"}]
        await post(desk, "/api/act", do="merge", links=links, asked=asked)
        undone = await post(desk, "/api/undo")
        assert undone["question"] is None  # nobody was asked what the action wrote

    at(test)


def test_a_question_that_was_answered_otherwise_meanwhile_is_not_given_back(at):
    async def test(desk):
        desk.engine.cluster(LABELS)
        desk.engine.offer((1, 5))
        links = [{"a": 1, "b": 5, "word": "same"}, {"a": 1, "b": 6, "word": "same"}]
        said = await post(desk, "/api/act", do="merge", links=links, asked="1-5-learn")
        await post(desk, "/api/answer", a=5, b=1, word="different")
        assert (await post(desk, "/api/undo", action=said["seq"] - 1))["question"] is None

    at(test)
