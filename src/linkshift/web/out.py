"""Stub."""
from typing import Any
from linkshift.web.replies import Refused


async def export(desk: Any, asked: Any) -> Any:
    raise Refused(501, "Not there yet.")
