"""A page in a browser, and a desk without one, for every test of this folder."""

from tests.web.browser import browser, page, page_errors
from tests.web.pages import at

__all__ = ["at", "browser", "page", "page_errors"]
