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
from slowwave.entrypoints.server.serve import configured, free_port
from slowwave.memory import Memory
from slowwave.settings.tree import load_settings

STOP_SECONDS = 30


@contextmanager
def serving(
    home: Path, memory: Memory | None = None, *, nightly: bool = False, **server: Any
) -> Iterator[httpx.Client]:
    """A client with the key of a server that runs meanwhile; `server` are settings of the group of that name."""
    home.mkdir(parents=True, exist_ok=True)
    settings = load_settings(home)
    own = settings.server.model_copy(update={"port_tries": 1_000, **server})
    settings = settings.model_copy(update={"server": own})
    key = own_key(home)
    app = create_app(memory or Memory(home), key=key, settings=settings, nightly=nightly)
    listener = free_port(own)
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
