"""The server of a home, over real HTTP on the loopback, in a thread of the test.

with serving(home) as client:
    client.post("/v1/search", json={"query": "kiln"})
"""

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import uvicorn

from slowwave.interfaces.http.address import own_key
from slowwave.interfaces.http.app import create_app
from slowwave.interfaces.http.serve import configured
from slowwave.memory import Memory
from slowwave.settings.tree import load_settings

STOP_SECONDS = 30


@contextmanager
def serving(home: Path, memory: Memory | None = None, *, nightly: bool = False) -> Iterator[httpx.Client]:
    """A client with the key of a server that runs meanwhile."""
    home.mkdir(parents=True, exist_ok=True)
    key = own_key(home)
    app = create_app(memory or Memory(home), key=key, settings=load_settings(home), nightly=nightly)
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    running = uvicorn.Server(configured(app))
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
