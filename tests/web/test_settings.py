"""What a person has chosen for the page stays with the person, in the file."""

import pytest
from tests.web.pages import get, post


async def chosen(desk):
    return (await get(desk, "/api/state"))["settings"]


def test_settings_are_there_again_for_who_made_them(at):
    async def before(desk):
        assert await chosen(desk) == {}
        said = await post(desk, "/api/settings", theme="dark", blind=False)
        assert said["settings"] == {"theme": "dark", "blind": False}
        await post(desk, "/api/settings", theme="light")

    async def others(desk):
        assert await chosen(desk) == {}
        await post(desk, "/api/settings", keys=False)

    async def after(desk):
        assert await chosen(desk) == {"theme": "light", "blind": False}

    at(before)
    at(others, who="Ben")
    at(after)


def test_settings_are_no_news_to_the_clusters_and_no_action_to_undo(at):
    async def test(desk):
        said = await post(desk, "/api/answer", a=0, b=1, word="same")
        desk.engine.cluster([0] * 12)
        n_logs, n_entries = len(desk.engine.logs), desk.ledger.record.n_entries
        changes = desk.changes()
        await anext(changes)
        await post(desk, "/api/settings", blind=False)
        assert (await anext(changes))["what"] == ["settings"]
        await post(desk, "/api/settings", blind=False)  # as it is
        assert len(desk.engine.logs) == n_logs
        assert desk.ledger.record.n_entries == n_entries + 1
        state = await get(desk, "/api/state")
        assert not state["refitting"]
        assert state["undoable"]["action"] == said["seq"]

    at(test)


@pytest.mark.parametrize(
    "body",
    [{"theme": "pink"}, {"blind": 1}, {"blind": "yes"}, {"asked": "1-2-learn"}, {"theme": ["dark"]},
     {"theme": "dark", "keys": None}],
)  # fmt: skip
def test_other_settings_are_refused_and_nothing_is_kept(at, body):
    async def test(desk):
        assert (await post(desk, "/api/settings", 400, **body))["error"]
        assert await chosen(desk) == {}

    at(test)
