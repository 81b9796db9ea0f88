"""The browser of the tests: what is found and skipped, and that no error of a page is missed."""

import asyncio

import pytest
from tests.web.browser import Errors, chromium_or_skip, find_chromium, fresh_page


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """An empty PATH; gives what puts programs there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("LINKSHIFT_CHROMIUM", raising=False)

    def make(*names):
        for name in names:
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)
        return tmp_path

    return make


def test_the_first_on_the_path_is_taken(programs):
    assert find_chromium() is None
    for name in ("google-chrome", "chromium-browser", "chromium"):
        folder = programs(name)
        assert find_chromium() == str(folder / name)


def test_the_variable_is_asked_first(programs, monkeypatch):
    folder = programs("chromium", "mine")
    monkeypatch.setenv("LINKSHIFT_CHROMIUM", str(folder / "mine"))
    assert find_chromium() == str(folder / "mine")
    monkeypatch.setenv("LINKSHIFT_CHROMIUM", str(folder / "nobody"))
    with pytest.raises(pytest.fail.Exception, match=r"LINKSHIFT_CHROMIUM=.*nobody is no program"):
        find_chromium()


@pytest.mark.parametrize("ci", ["", "false", "true"])
def test_no_browser_is_a_reason_to_skip_but_not_in_ci(programs, monkeypatch, ci):
    programs()
    monkeypatch.setenv("CI", ci)
    outcome = pytest.fail.Exception if ci == "true" else pytest.skip.Exception
    with pytest.raises(outcome, match="none of chromium, chromium-browser, google-chrome"):
        chromium_or_skip()


@pytest.mark.parametrize("ci", ["", "true"])
def test_no_playwright_is_a_reason_to_skip_but_not_in_ci(programs, monkeypatch, ci):
    programs("chromium")
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr("tests.web.browser.find_spec", lambda name: None)
    outcome = pytest.fail.Exception if ci == "true" else pytest.skip.Exception
    with pytest.raises(outcome, match="pip install playwright"):
        chromium_or_skip()


def test_a_page_runs_scripts(page):
    page.set_content("<p>before</p><script>document.querySelector('p').textContent += '!'</script>")
    assert page.inner_text("p") == "before!"


SCRIPTS = {
    "console": ("console.error('spilt')", "console: spilt"),
    "thrown": ("setTimeout(() => { throw new Error('spilt') }, 0)", "thrown: spilt"),
    "promise": ("Promise.reject(new Error('spilt'))", "thrown: spilt"),
    "last": ("for (let i = 0; i < 500; i++) console.log(i); console.error('spilt')", "spilt"),
}


@pytest.mark.parametrize(("script", "told"), SCRIPTS.values(), ids=SCRIPTS)
def test_an_error_of_a_page_fails_its_test(browser, script, told):
    with pytest.raises(pytest.fail.Exception, match=told), fresh_page(browser, Errors()) as page:
        page.set_content(f"<script>{script}</script>")


def test_an_error_of_a_tab_that_a_page_opens_fails_its_test(browser):
    def open_another(page):
        with page.expect_popup():
            page.evaluate("open().document.write(\"<script>console.error('spilt')</scr\" + 'ipt>')")

    with pytest.raises(pytest.fail.Exception, match="spilt"), fresh_page(browser, Errors()) as page:
        open_another(page)


def test_warnings_are_no_errors_and_expected_errors_are_taken_out(page, page_errors):
    page.set_content("<script>console.warn('hm'); console.error('as expected')</script>")
    page.evaluate("0")
    assert page_errors.told.pop().startswith("console: as expected")


def test_pages_have_nothing_of_each_other(browser):
    for _ in range(2):
        with fresh_page(browser, Errors()) as page:
            page.route("http://here.test/", lambda route: route.fulfill(body="<p>"))
            page.goto("http://here.test/")
            assert page.evaluate("[document.cookie, localStorage.length].join()") == ",0"
            page.evaluate("document.cookie = 'a=1'; localStorage.setItem('a', 1)")


def test_other_tests_may_have_loops_of_their_own(browser):
    async def answer():
        return 42

    assert asyncio.run(answer()) == 42
    with fresh_page(browser, Errors()) as page:
        assert page.evaluate("6 * 7") == 42
    assert asyncio.run(answer()) == 42
