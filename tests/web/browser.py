"""A browser for tests of pages: Chromium of the system, driven by Playwright.

`page` is a fixture of every test below `tests/web` (conftest.py there takes it from here). What a
page writes to its console as an error, or throws, fails the test. Without a browser such tests
are skipped, except where CI=true: there a browser that is missing is a failure.
"""

from __future__ import annotations

import os
import shutil
from asyncio import events
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

VARIABLE = "LINKSHIFT_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium():
    """Path of the browser: what LINKSHIFT_CHROMIUM names, else the first on PATH; None without."""
    named = os.environ.get(VARIABLE)
    if named:
        if not (os.access(named, os.X_OK) and Path(named).is_file()):
            pytest.fail(f"{VARIABLE}={named} is no program", pytrace=False)
        return named
    return next(filter(None, map(shutil.which, NAMES)), None)


def chromium_or_skip():
    """Path of the browser; without it, or Playwright, the test is skipped, or fails in CI."""
    path = find_chromium()
    if path is None:
        missing(f"no browser: none of {', '.join(NAMES)} on PATH, and {VARIABLE} is not set")
    if find_spec("playwright") is None:
        missing("no Playwright: pip install playwright")
    return path


def missing(reason):
    """Skip a test that needs a browser; in CI, where nobody would notice, fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; with CI=true tests in a browser must run", pytrace=False)
    pytest.skip(reason)


@dataclass
class Driver:
    """Playwright and a browser that it has started, and the loop of events that both live in.

    Playwright leaves its loop marked as running in the thread that started it, also while tests
    run that have nothing to do with it, and whose `asyncio.run` would then be refused. So the
    mark is there only between `enter` and `leave`.
    """

    chromium: object
    loop: object = field(default=None)

    @contextmanager
    def awake(self):
        """Whatever speaks with the browser does it in here."""
        before = events._get_running_loop()
        events._set_running_loop(self.loop)
        try:
            yield
        finally:
            self.loop = events._get_running_loop()
            events._set_running_loop(before)


@contextmanager
def started(path):
    """Start a browser for as long as the context lasts. Gives its driver."""
    from playwright.sync_api import sync_playwright

    driver = Driver(None)
    with driver.awake():
        playwright = sync_playwright().start()
        try:
            driver.chromium = playwright.chromium.launch(
                executable_path=path, headless=True, args=list(ARGS)
            )
        except BaseException:
            playwright.stop()
            raise
    try:
        yield driver
    finally:
        with driver.awake():
            driver.chromium.close()
            playwright.stop()


@dataclass
class Errors:
    """What pages complained of, in its order. A test that wants an error takes it out."""

    told: list[str] = field(default_factory=list)

    def listen(self, context):
        """To all pages of a context, those included that a page opens."""
        context.on("console", self._console)
        context.on("weberror", self._thrown)

    def _console(self, message):
        if message.type == "error":
            where = message.location.get("url", "")
            self.told.append(f"console: {message.text}" + (f" ({where})" if where else ""))

    def _thrown(self, error):
        self.told.append(f"thrown: {error.error}")

    def check(self):
        if self.told:
            pytest.fail("the page has errors:\n" + "\n".join(self.told), pytrace=False)


@contextmanager
def fresh_page(driver, errors):
    """Open a page with cookies and storage of its own. Ends with `errors.check()`."""
    with driver.awake():
        context = driver.chromium.new_context()
        errors.listen(context)
        try:
            yield context.new_page()
            hear_all(context)
        finally:
            context.close()
    errors.check()


def hear_all(context):
    """Wait for what pages have said so far: it comes before the answer to a question."""
    from playwright.sync_api import Error

    for page in context.pages:
        with suppress(Error):  # a page that is gone, or leads somewhere else at this moment
            page.evaluate("0")


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of a worker."""
    with started(chromium_or_skip()) as driver:
        yield driver


@pytest.fixture
def page_errors():
    """What the page of this test complained of. Taking an error out says that it was expected."""
    return Errors()


@pytest.fixture
def page(browser, page_errors):
    """A page in a context of its own. The test fails if the page has errors."""
    with fresh_page(browser, page_errors) as page:
        yield page
