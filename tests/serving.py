"""The server of a home, over real HTTP on the loopback, in a thread of the test.

with serving(home) as client:
    client.post("/v1/search", json={"query": "kiln"})
"""

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from slowwave.entrypoints.server.address import own_key
from slowwave.entrypoints.server.app import create_app
from slowwave.entrypoints.server.limits import Limits
from slowwave.entrypoints.server.serve import configured, free_port
from slowwave.memory import Memory
from slowwave.settings.tree import load_settings

STOP_SECONDS = 30


@contextmanager
def serving(home: Path, memory: Memory | None = None, **limits: Any) -> Iterator[httpx.Client]:
    """A client with the key of a server that runs meanwhile; `limits` are those of the server."""
    home.mkdir(parents=True, exist_ok=True)
    settings, own, key = load_settings(home), Limits(**limits), own_key(home)
    app = create_app(memory or Memory(home), key=key, settings=settings, limits=own)
    listener = free_port(settings.server.port, tries=1_000)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    running = uvicorn.Server(configured(app, own))
    thread = threading.Thread(target=lambda: asyncio.run(running.serve([listener])), daemon=True)
    thread.start()
    try:
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30) as client:
            yield client
    finally:
        running.should_exit = True
        thread.join(STOP_SECONDS)
        listener.close()
        logging.getLogger("uvicorn.error").handlers.clear()
    assert not thread.is_alive(), "the server did not stop"
