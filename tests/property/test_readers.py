"""Readers under any bytes, any growth and any secret."""

import json
import tempfile
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from slowwave.errors import SlowwaveError
from slowwave.ingest.fences import strip_injected
from slowwave.ingest.formats import read_path
from slowwave.ingest.redact import redact
from slowwave.ingest.turns import READ_SCHEMA, Reading

RANDOM = "aB3dE5gH7jK9mN2pQ4sT6vW8xY1zA3cD5eF7gH9jK2mN4pQ6"
SECRETS = [
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSy" + RANDOM[:33],
    "sk-proj-" + RANDOM,
    "sk-ant-api03-" + RANDOM,
    "ghp_" + RANDOM[:36],
    "github_pat_" + RANDOM[:36],
    "glpat-" + RANDOM[:20],
    "xoxb-123456789012-" + RANDOM[:24],
    "SG." + RANDOM[:22] + "." + RANDOM[:43],
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + RANDOM[:43],
]
NAMES = [
    "password",
    "PASSWORD",
    "db_passwd",
    "api_key",
    "apiKey",
    "client-secret",
    "SECRET_KEY",
    "auth_token",
]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
texts = st.text(max_size=30) | st.sampled_from(
    [
        "<system-reminder>x</system-reminder>",
        "<slowwave-memory>",
        "</slowwave-memory>",
        "password=hunter2",
        "\ud83d",
    ]
)
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image", "odd"]) | scalars},
    optional={"text": texts | scalars},
)
contents = texts | scalars | st.lists(blocks | scalars, max_size=3)
messages = st.fixed_dictionaries({}, optional={"role": scalars, "content": contents, "id": scalars})
records = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "summary", "system"]) | scalars},
    optional={
        "message": messages | scalars,
        "role": st.sampled_from(["user", "assistant", "system"]) | scalars,
        "content": contents,
        "id": scalars,
        "uuid": st.sampled_from(["u1", "u2"]) | scalars,
        "sessionId": st.sampled_from(["s1", "s2"]) | scalars,
        "session_id": scalars,
        "timestamp": st.sampled_from(["2026-06-02T08:00:00Z", "2026-06-02T08:00:01"]) | scalars,
        "isMeta": scalars,
        "cwd": scalars,
        "speaker": scalars,
    },
)
lines = (
    records.map(json.dumps).map(str.encode)
    | st.binary(max_size=30)
    | scalars.map(json.dumps).map(str.encode)
    | st.sampled_from([b"\x00", b"\xef\xbb\xbf", b"\xff\xfe{", b"{", b"---", b"# x", b"```"])
)


def read_bytes(content: bytes, suffix: str) -> Reading | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file" + suffix)
        path.write_bytes(content)
        try:
            return read_path(path)
        except SlowwaveError:
            return None


@given(st.lists(lines, max_size=6), st.sampled_from([".jsonl", ".md", ".txt", ".dat"]), st.booleans())
def test_any_file_gives_a_reading_or_an_error_of_ours(parts, suffix, is_ended):
    reading = read_bytes(b"\n".join(parts) + (b"\n" if is_ended else b""), suffix)
    if reading is not None:
        turns = reading.turns
        assert turns.schema == READ_SCHEMA
        assert turns["turn_id"].n_unique() == turns.height
        assert all(text.strip() for text in turns["content"])
        assert min(reading.skipped.values(), default=1) > 0


@given(st.binary(max_size=300), st.sampled_from([".jsonl", ".md", ".txt"]))
def test_any_bytes_give_a_reading_or_an_error_of_ours(content, suffix):
    read_bytes(content, suffix)


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
        st.text(max_size=12)
        | st.sampled_from(
            [*SECRETS, *NAMES, "=", ": ", '"', "'", "`", "\\n", "\n", " is ", "://", "@", "[redacted:aws]"]
        ),
        max_size=12,
    )
)
def test_redacting_again_changes_nothing(parts):
    once, _ = redact("".join(parts))
    assert redact(once) == (once, {})


@given(
    st.sampled_from(SECRETS),
    st.sampled_from(
        ["", " ", "\n", "\\n", '"', "'", "`", "(", "=", ": ", ", ", "<", "[", "{", "%20", "\t", "> "]
    ),
    st.sampled_from(["", " ", "\n", '"', "'", "`", ")", ", ", ". ", ">", "]", "}", "&x=1", ";", "\t", "\\n"]),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_no_secret_with_a_form_of_its_own_survives(secret, before, after, start, end):
    is_inside_a_word = not before and start[-1:].isalnum()
    assert is_inside_a_word or secret not in redact(f"{start}{before}{secret}{after}{end}")[0]


@given(
    st.sampled_from(NAMES),
    st.sampled_from(
        [
            '{}="{}"',
            "{}='{}'",
            "{} = '{}'",
            '"{}": "{}"',
            "{}={}",
            "{} := '{}'",
            "{} => '{}'",
            '\\"{}\\": \\"{}\\"',
        ]
    ),
    st.from_regex(r"[A-Za-z]{4,10}[0-9]{2,6}[A-Za-z]{2,8}", fullmatch=True),
    st.sampled_from(["", "export ", "set(", "{", "  ", "my_"]),
)
@example("api_key", '{}="{}"', "ABCD12EF", "")  # as long as the name of a key of PGP
def test_nothing_that_is_given_to_the_name_of_a_secret_survives(name, form, secret, before):
    assert secret not in redact(before + form.format(name, secret))[0]


@given(
    st.lists(
        st.sampled_from(["<slowwave-memory>", "</slowwave-memory>", "a", "\n", "> ", "<slowwave", "-memory>"])
    )
)
def test_no_fence_is_left_and_stripping_again_changes_nothing(parts):
    text, _ = strip_injected("".join(parts))
    assert strip_injected(text) == (text, 0)
