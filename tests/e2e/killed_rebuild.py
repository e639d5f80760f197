"""What a process does that rebuilds a store in `test_damage.py` and dies there.

It imports Slowwave within its function alone: until then it must be a fork of one thread (`tests/forked.py`).
"""

import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

from tests.forked import assert_sound


def rebuild_and_die(told: Connection, home: str, owner: str, method: str, calls: int) -> None:
    """Rebuilds a home, and kills itself right before one call of a method."""
    assert_sound()
    from flows.rebuild import rebuild
    from slowwave.store import Store

    holder = {"Path": Path, "Store": Store}[owner]
    work, left = getattr(holder, method), calls

    def dies(*arguments: object, **named: object) -> object:
        nonlocal left
        left -= 1
        if left == 0:
            told.send("dying")
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*arguments, **named)

    setattr(holder, method, dies)
    rebuild.fn(home=home)
    told.send("done")
