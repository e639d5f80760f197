"""Sessions of Codex that were forked off one another in any way: each message is one turn."""

import json
import random
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.reading import read_path

WORDS = ("Yes.", "Go on.", "Open the kiln.")


def identifier(number: int) -> str:
    return f"019e{number:04x}-0000-7000-8000-{number:012x}"


def message(chance: random.Random, role: str, text: str, turn_id: str | None) -> list[dict]:
    """The records of a message, in one of the forms."""
    block = "output_text" if role == "assistant" else "input_text"
    sent = {"type": "message", "role": role, "content": [{"type": block, "text": text}]}
    shown = {"type": "user_message" if role == "user" else "agent_message", "message": text}
    if turn_id is None:
        return [{"type": "response_item", "payload": sent}, {"type": "event_msg", "payload": shown}]
    item = {
        "type": f"{'User' if role == 'user' else 'Agent'}Message",
        "content": [{"type": "Text", "text": text}],
    }
    completed = {"type": "item_completed", "turn_id": turn_id, "item": item}
    return chance.choice(
        [
            [{"type": "event_msg", "payload": completed}],
            [{"type": "response_item", "payload": sent}],
            [{"type": "response_item", "payload": sent}, {"type": "event_msg", "payload": shown}],
        ]
    )


def sessions(chance: random.Random, *, has_turn_ids: bool) -> tuple[list[list[dict]], int]:
    """The records of sessions, each but the first forked off another one, and how many messages were said in all."""
    found: list[list[dict]] = []
    said = 0
    for number in range(chance.randrange(1, 5)):
        parent = chance.choice(found) if found else []
        meta = {"id": identifier(1_000 + number), "cwd": "/kiln"}
        if parent:
            meta["forked_from_id"] = parent[0]["payload"]["id"]
        starts = [
            place for place, record in enumerate(parent) if record["payload"].get("type") == "task_started"
        ]
        copied = parent[: chance.choice([*starts, len(parent)])] if has_turn_ids or parent else []
        records = [{"type": "session_meta", "payload": meta}, *copied]
        for _ in range(chance.randrange(1, 4)):
            turn_id = identifier(said + 1) if has_turn_ids else None
            if turn_id:
                records.append({"type": "event_msg", "payload": {"type": "task_started", "turn_id": turn_id}})
            for role in ("user", "assistant"):
                said += 1
                text = chance.choice(WORDS) if turn_id else f"{chance.choice(WORDS)} {said}"
                records += message(chance, role, text, turn_id)
        found.append([{**record, "timestamp": f"2026-05-{10 + number}T10:00:00Z"} for record in records])
    return found, said


@given(st.integers(min_value=0, max_value=2**32), st.booleans())
def test_every_message_is_one_turn_whatever_was_copied(seed, has_turn_ids):
    chance = random.Random(seed)
    found, said = sessions(chance, has_turn_ids=has_turn_ids)
    turns: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, records in enumerate(chance.sample(found, len(found))):
            path = Path(folder, f"rollout-{number}.jsonl")
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
            for turn_id, content in read_path(path).turns.select("turn_id", "content").rows():
                assert turns.setdefault(turn_id, content) == content
    assert len(turns) == said
