"""Readers under any bytes, any growth and any secret."""

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from slowwave.ingest.fences import strip_injected
from tests.reading import read_path

spoken = st.text(alphabet="ab \n", min_size=1, max_size=6)
session_lines = st.lists(
    st.builds(
        lambda kind, text, native, clock, is_tool: {
            "type": kind,
            "uuid": f"{native}-{clock}" if kind == "user" else "a",
            "sessionId": "s",
            "timestamp": f"2026-06-02T08:00:0{clock}Z" if clock else None,
            "message": {
                "id": native,
                "content": [{"type": "tool_use"} if is_tool else {"type": "text", "text": text}],
            },
        },
        st.sampled_from(["user", "assistant"]),
        spoken,
        st.sampled_from(["m1", "m2", "m3", None]),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=8,
)


@given(session_lines)
def test_a_growing_session_only_adds_turns_or_extends_them_and_never_changes_ids(grown):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        before: dict[str, str] = {}
        for count in range(len(grown) + 1):
            path.write_text("".join(json.dumps(record) + "\n" for record in grown[:count]))
            turns = read_path(path).turns
            after = dict(zip(turns["turn_id"], turns["content"], strict=True))
            assert list(after)[: len(before)] == list(before)
            assert all(after[turn_id].startswith(text) for turn_id, text in before.items())
            before = after


@given(
    st.lists(
        st.sampled_from(["<slowwave-memory>", "</slowwave-memory>", "a", "\n", "> ", "<slowwave", "-memory>"])
    )
)
def test_no_fence_is_left_and_stripping_again_changes_nothing(parts):
    text, _ = strip_injected("".join(parts))
    assert strip_injected(text) == (text, 0)
