"""The plain chat form."""

import json
import os
from datetime import UTC, datetime

from slowwave.ingest.bounds import Bounds
from slowwave.ingest.formats import chat, read_parts
from slowwave.schemas.identity import content_hash, stable_id
from tests.reading import read_path


def write(folder, *records, name="talk.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_people_and_assistants_speak_and_all_others_are_counted(tmp_path):
    roles = ["user", "Human", "assistant", "ai", "system", "developer", "tool", "function", "moderator", None]
    reading = read_path(write(tmp_path, *({"role": role, "content": f"by {role}"} for role in roles)))
    assert reading.turns["role"].to_list() == ["user", "user", "assistant", "assistant"]
    assert reading.turns["origin"].to_list() == ["user", "user", "agent", "agent"]
    assert reading.skipped == {"system message": 2, "tool message": 2, "unknown role": 2}
    assert reading.kind == "chat"


def test_content_is_text_or_a_list_of_texts(tmp_path):
    blocks = [{"type": "text", "text": "one"}, "two", {"type": "image_url"}, {"type": "text"}]
    reading = read_path(
        write(
            tmp_path,
            {"role": "user", "content": blocks},
            {"role": "user", "content": None},
            {"role": "user", "content": []},
        )
    )
    assert reading.turns["content"].to_list() == ["one\n\ntwo"]
    assert reading.skipped == {"block without text": 2, "unreadable message": 1, "empty message": 1}


def test_a_line_that_is_not_utf8_is_taken_and_named(tmp_path):
    path = tmp_path / "talk.jsonl"
    lines = ["Grüße aus Köln", "Grüße", "a \ufffd that was typed"]
    coded = zip(lines, ["latin-1", "utf-8", "utf-8"], strict=True)
    path.write_bytes(
        b"".join(f'{{"role": "user", "content": "{text}"}}\n'.encode(code) for text, code in coded)
    )
    reading = read_path(path)
    assert reading.turns.height == 3
    assert [(reason, told.partition(",")[0]) for reason, told in reading.counts.excesses] == [
        ("line that is not UTF-8", "line 1 is not UTF-8")
    ]


def test_a_message_says_who_where_when_and_in_which_session(tmp_path):
    reading = read_path(
        write(
            tmp_path,
            {
                "role": "user",
                "content": "x",
                "id": 7,
                "session_id": "s",
                "speaker": "Mara",
                "cwd": "/src",
                "timestamp": 1780387200,
            },
            {"role": "user", "content": "y", "name": "Jonas"},
        )
    )
    first, second = reading.turns.to_dicts()
    assert (first["session_id"], first["speaker"], first["cwd"]) == ("s", "Mara", "/src")
    assert first["turn_id"] == stable_id("turn", "s", "7")
    assert (second["session_id"], second["speaker"], second["cwd"]) == ("talk", "Jonas", None)
    assert second["turn_id"] == stable_id("turn", "talk", "user", "0")
    assert first["event_time"] == second["event_time"] == datetime(2026, 6, 2, 8, tzinfo=UTC)
    assert (first["turn_index"], second["turn_index"]) == (0, 0)


def test_without_any_time_it_is_that_of_the_file(tmp_path):
    path = write(tmp_path, {"role": "user", "content": "x"})
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert read_path(path).turns["event_time"][0] == datetime.fromtimestamp(1_700_000_000, UTC)


def test_an_id_used_twice_loses_no_text_and_a_repetition_adds_none(tmp_path):
    reading = read_path(
        write(
            tmp_path,
            {"role": "user", "content": "x", "id": "1"},
            {"role": "user", "content": "y", "id": "1"},
            {"role": "user", "content": "x", "id": "1"},
        )
    )
    assert reading.turns["content"].to_list() == ["x", "y"]
    assert reading.turns["turn_id"].n_unique() == 2
    assert reading.skipped == {"repeated message": 1}


def test_a_time_that_is_none_is_counted_and_the_one_before_stands(tmp_path):
    said = ["2026-05-01T09:00:00Z", "2026-13-45T09:00:00Z", "9999-01-01T00:00:00Z", 6e10, None]
    records = [{"role": "user", "content": str(place), "timestamp": time} for place, time in enumerate(said)]
    reading = read_path(write(tmp_path, *records))
    assert reading.turns["event_time"].unique().to_list() == [datetime(2026, 5, 1, 9, tzinfo=UTC)]
    assert reading.skipped == {"time that is none: taken as the one before": 3}


def test_a_secret_that_answers_the_message_before_it_is_taken(tmp_path):
    secret, other = "Tr0ub4" + "dor&3x", "Quartz" + "moth&9y"
    said = [
        ("s", "What was the password of the archive?"),
        ("s", secret),
        ("s", "Thanks, that works."),
        ("t", other),
    ]
    reading = read_path(
        write(tmp_path, *({"role": "user", "session_id": name, "content": text} for name, text in said))
    )
    assert reading.turns["content"].to_list() == [said[0][1], "[redacted:password]", said[2][1], other]
    assert reading.redacted == {"password": 1}


TOLD_AGAIN = (
    ("user", "Does Kx9!tram-Pelle77 still work?"),
    ("user", "The password of the wiki is Kx9!tram-Pelle77, please keep it."),
    ("assistant", "I typed Kx9!tram-Pelle77 and (Kx9!tram-Pelle77) and it let me in."),
    ("assistant", "xKx9!tram-Pelle77 and Kx9!tram-Pelle777 are others, and please stays a word."),
)


def test_a_secret_that_one_message_shows_is_masked_alone_in_the_others_of_the_file(tmp_path):
    records = [
        {"id": str(number), "role": role, "content": text} for number, (role, text) in enumerate(TOLD_AGAIN)
    ]
    reading = read_path(write(tmp_path, *records))
    mark = "[redacted:password]"
    assert reading.turns["content"].to_list() == [
        f"Does {mark} still work?",
        f"The password of the wiki is {mark}, please keep it.",
        f"I typed {mark} and ({mark}) and it let me in.",
        TOLD_AGAIN[3][1],
    ]
    assert reading.turns["content_hash"].to_list() == [
        content_hash(text) for text in reading.turns["content"]
    ]
    assert reading.redacted == {"password": 4}


def test_a_secret_that_the_message_before_asked_for_is_known_in_the_ones_after_it(tmp_path):
    said = ["What was the password of the wiki?", "Kx9!tram-Pelle77", "So Kx9!tram-Pelle77 it was."]
    reading = read_path(write(tmp_path, *({"role": "user", "content": text} for text in said)))
    assert "Kx9" not in " ".join(reading.turns["content"])


def test_a_secret_is_known_in_later_parts_of_a_file(tmp_path):
    texts = ["The password is Kx9!tram-Pelle77.", "Thanks.", "So Kx9!tram-Pelle77 it was."]
    path = write(tmp_path, *({"role": "user", "content": text} for text in texts))
    parts = list(read_parts(path, chat.FORMAT, bounds=Bounds(part_turns=2)))
    assert [part.turns.height for part in parts] == [2, 1]
    assert parts[1].turns["content"].to_list() == ["So [redacted:password] it was."]
