"""A page in a browser, for every test of this folder."""

from tests.web.browser import browser, page, page_errors

__all__ = ["browser", "page", "page_errors"]
