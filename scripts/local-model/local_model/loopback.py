"""Small HTTP requests to servers on this machine, never through a proxy."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_MAX_BODY = 16 << 20


def get_status(url: str, timeout: float) -> int:
    """The status of a GET. Raises HTTPError beyond 2xx, OSError without an answer."""
    with _OPENER.open(url, timeout=timeout) as response:
        status: int = response.status
        return status


def get_json(url: str, timeout: float, body: dict[str, Any] | None = None) -> Any:
    """The parsed answer to a GET, or to a POST if there is a body.

    Raises OSError (HTTPError is one) without a good answer and ValueError for
    one that is not JSON.
    """
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with _OPENER.open(request, timeout=timeout) as response:
        return json.loads(response.read(_MAX_BODY))
