"""A process that records messages and says which are safe, until it is killed.

It imports Slowwave within its function alone: until then it must be a fork of one thread (`tests/forked.py`).
"""

from multiprocessing.connection import Connection

from tests.forked import assert_sound

BATCH = 5


def record_until_killed(told: Connection, home: str) -> None:
    """Record batch after batch, and say the number of each after `Memory.record` returned."""
    assert_sound()
    from slowwave import Memory

    memory = Memory(home, records_usage=False)
    for batch in range(10_000):
        turns = [
            {
                "session_id": f"s{batch % 3}",
                "id": f"{batch}-{place}",
                "role": "user",
                "text": f"Batch {batch}, message {place}.",
            }
            for place in range(BATCH)
        ]
        memory.record(turns)
        told.send(batch)
