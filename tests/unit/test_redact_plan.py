"""What a redaction takes out of a text and an event, and what it leaves alone."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slowwave.ingest.redact import redact, redact_reply
from slowwave.ingest.redact.marks import gaps, is_redacted_form, mark_of, secrets_in, taken
from slowwave.journal.catalogue import CATALOGUE
from slowwave.recording.turns import taking_over
from slowwave.rewrite.redact import is_known_anywhere
from slowwave.rewrite.redact_plan import REDACTED, RedactPlan, cleaned
from slowwave.rewrite.transform import Event, Masker, rehashed
from slowwave.schemas.identity import content_hash, stable_id
from slowwave.schemas.tables import TIMESTAMP
from slowwave.schemas.text_columns import is_text
from tests.examples import at_most
from tests.rows import PLAIN, row

WORD = "brine" + "42kelp"
PASSWORD = "[redacted:password]"

words = st.text(st.sampled_from("abc 12.,\n"), max_size=12)
literals = words.filter(lambda text: "[" not in text)


def plan_of(**given: object) -> RedactPlan:
    return RedactPlan(rules_id="r", **{"weak": {WORD: "password"}, **given})


def learned(plan: RedactPlan, kind: str, payload: dict[str, object]) -> dict[str, object]:
    """The payload after an event by itself is looked at and learned from, as it comes to stand in the journal."""
    list(plan.learned([Event("e", kind, payload)]))
    return rewritten(plan, kind, payload)


def rewritten(plan: RedactPlan, kind: str, payload: dict[str, object]) -> dict[str, object]:
    (safe,) = plan.after([Event("e", kind, payload)])
    return rehashed(payload, safe)


def payload_of(kind: str, table: str, key: str, **given: object) -> dict[str, object]:
    whole = {**row(table, key), **given}
    return {name: whole.get(name) for name in CATALOGUE[kind].payload}


@given(
    pieces=st.lists(literals, min_size=2, max_size=5),
    secrets=st.lists(st.text("xyz789", min_size=1), min_size=4),
)
def test_what_stood_in_the_place_of_marks_is_found(pieces: list[str], secrets: list[str]) -> None:
    pairs = list(zip(pieces[1:], secrets, strict=False))
    before = pieces[0] + "".join(secret + piece for piece, secret in pairs)
    after = pieces[0] + "".join(mark_of("password") + piece for piece, _ in pairs)
    found = gaps(before, after)
    assert found is not None
    rebuilt, done = "", 0
    for begin, end, mark in found:
        rebuilt, done = rebuilt + before[done:begin] + mark, end
    assert rebuilt + before[done:] == after
    if all(piece.strip("\n .,12") for piece in pieces[1:-1]):
        assert [before[begin:end] for begin, end, _ in found] == [secret for _, secret in pairs]


@pytest.mark.parametrize(
    ("stored", "read", "is_same"),
    [
        ("The gate opens with [redacted:password] now.", f"The gate opens with {WORD} now.", True),
        ("The gate opens with [redacted:password] now.", "The gate opens with  now.", False),
        ("The gate opens with [redacted:password] now.", f"The gate opens with {WORD} now. And more.", False),
        (
            "[redacted:password] and [redacted:password] for the gates",
            f"{WORD} and {WORD} for the gates",
            True,
        ),
        ("The gate is open.", "The gate is open.", False),
        ("pw [redacted:password]", f"pw {WORD}", False),
    ],
)
def test_a_text_is_recognised_by_what_its_marks_leave(stored: str, read: str, is_same: bool) -> None:
    assert is_redacted_form(stored, read) is is_same


def test_the_secrets_of_a_text_are_known_with_their_kinds() -> None:
    text = f"password: {WORD}, and the password was {WORD}99 before"
    assert secrets_in(text) == {WORD: "password", f"{WORD}99": "password"}
    assert secrets_in(redact(text)[0]) == {}
    listed = f"password: {WORD}a\npassword: {WORD}b,{WORD}\n"
    assert set(secrets_in(listed)) >= {f"{WORD}a"}
    assert all(secret in listed and "password" not in secret for secret in secrets_in(listed))
    assert taken("nothing here", "nothing here") == {}
    assert taken(f"it is {WORD} here", "it is [redacted:own] here") == {WORD: "own"}


@pytest.mark.parametrize(
    ("secret", "is_known"),
    [
        (WORD, True),
        ("hunter2", True),
        ("ab12", False),
        ("authentication", False),
        ("4711", False),
        ("4711" * 3, True),
    ],
)
def test_only_what_no_other_text_says_is_masked_everywhere(secret: str, is_known: bool) -> None:
    assert is_known_anywhere(secret) is is_known


def test_a_known_secret_goes_in_any_case_and_as_a_name_without_signs() -> None:
    masker = Masker({WORD: PASSWORD, "Gate-88 Kelp": "[redacted:token]"})
    text, found = masker.mask(f"{WORD.upper()} opens gate 88 kelp, not the gate 88 of kelp")
    assert text == "[redacted:password] opens [redacted:token], not the gate 88 of kelp"
    assert found == {PASSWORD: 1, "[redacted:token]": 1}
    assert Masker({"4711": PASSWORD}, is_whole=True).mask("4711 and 47110")[0] == f"{PASSWORD} and 47110"


@settings(max_examples=at_most(60))
@given(
    parts=st.lists(
        st.sampled_from([*"ab 1:=\n", "password", WORD, "token", '"', "[redacted:x]"]), max_size=20
    )
)
def test_cleaning_again_changes_nothing(parts: list[str]) -> None:
    safe, _ = cleaned("".join(parts), Masker({WORD: PASSWORD}))
    assert cleaned(safe, Masker({WORD: PASSWORD})) == (safe, {})
    assert WORD not in safe


@pytest.mark.parametrize("kind", sorted(set(CATALOGUE) - {REDACTED}))
def test_of_every_event_the_texts_alone_lose_a_known_secret(kind: str) -> None:
    payload: dict[str, object] = {
        name: [WORD, "other"] if "List" in str(dtype) else "2026-05-01" if dtype == TIMESTAMP else WORD
        for name, dtype in CATALOGUE[kind].payload.items()
    }
    (safe,) = plan_of(secrets={WORD: "password"}, weak={}).after([Event("e", kind, payload)])
    for name, dtype in CATALOGUE[kind].payload.items():
        if is_text(name, dtype):
            assert WORD not in json.dumps(safe[name]), name
        elif name != "content_hash":
            assert safe[name] == payload[name], name


def test_what_changed_has_a_new_id_and_hash_in_everything_that_names_it() -> None:
    owner = {name: PLAIN[name] for name in ("user_id", "project_id", "scope")}
    text = f"The password is {WORD}."
    turn = payload_of("turn.recorded", "turns", stable_id("turn", "s", content_hash(text)), session_id="s")
    turn |= {"content": text, "content_hash": content_hash(text), "role": "document"}
    cell_id = stable_id("cell", *owner.values(), "s", content_hash(text))
    cell = payload_of("cell.extracted", "cells", cell_id, session_id="s", evidence=[turn["turn_id"]], **owner)
    cell |= {"content": text, "content_hash": content_hash(text)}
    other = {"cell_id": cell_id, "similarity": 0.5, "topic_id": stable_id("topic", cell_id)}
    edge = payload_of("edge.drawn", "edges", "e", source_id=cell_id)
    plan = plan_of()
    safe_turn = learned(plan, "turn.recorded", turn)
    safe_cell = learned(plan, "cell.extracted", cell)
    digest = content_hash(redact(text)[0])
    made = {stable_id("turn", "s", digest), stable_id("cell", *owner.values(), "s", digest)}
    assert {safe_turn["turn_id"], safe_cell["cell_id"]}.isdisjoint({turn["turn_id"], cell_id, *made}), "drawn"
    assert (safe_turn["content_hash"], safe_cell["content_hash"]) == (digest, digest)
    assert safe_cell["evidence"] == [safe_turn["turn_id"]]
    after = learned(plan, "cell.assigned", other)
    assert after["cell_id"] == safe_cell["cell_id"]
    assert after["topic_id"] == stable_id("topic", str(safe_cell["cell_id"]))
    safe_edge = learned(plan, "edge.drawn", edge)
    assert safe_edge["source_id"] == safe_cell["cell_id"]
    assert safe_edge["edge_id"] != "e"
    for kind, safe in (("cell.extracted", safe_cell), ("edge.drawn", safe_edge)):
        assert rewritten(plan, kind, safe) == safe, "again changes nothing"


def test_a_section_with_a_drawn_id_is_known_again_however_short_it_is() -> None:
    section = {"session_id": "notes", "content": "pw [redacted:password]", "role": "document"}
    read = pl.DataFrame(
        [{**section, "turn_id": "by its text"}, {**section, "turn_id": "new", "content": "pw"}]
    )
    stored = pl.DataFrame([{**section, "turn_id": "drawn"}])
    assert taking_over(read, stored)["turn_id"].to_list() == ["new"]


def test_windows_of_a_long_turn_hold_all_of_its_words_afterwards_each_once() -> None:
    text = f"Alpha. password={WORD}\nBeta words stand here. Gamma."
    turn = payload_of("turn.recorded", "turns", "t1") | {"content": text}
    plan = plan_of()
    safe = str(learned(plan, "turn.recorded", turn)["content"])
    border, windows = text.index("Gamma"), []
    for first, last in ((0, border), (border, len(text))):
        cut = payload_of(
            "chunk.cut", "chunks", f"k{first}", turn_ids=["t1"], first_char=first, last_char=last
        )
        after = learned(plan, "chunk.cut", cut)
        assert after["chunk_id"] != cut["chunk_id"]
        assert after["content_hash"] != cut["content_hash"]
        windows.append(safe[int(str(after["first_char"])) : int(str(after["last_char"]))])
        assert rewritten(plan, "chunk.cut", after) == after
    assert "".join(windows) == safe


def test_a_value_that_only_its_attribute_shows_to_be_a_secret_goes() -> None:
    cell = payload_of("cell.extracted", "cells", "c", attribute="password", value=WORD, content="The gate.")
    ((_, safe, lost),) = plan_of().learned([Event("e", "cell.extracted", cell)])
    assert safe["value"] == PASSWORD
    assert lost == {"password": 1}


def test_an_answer_to_the_turn_before_goes_as_a_reader_takes_it() -> None:
    asked, said = "What was the password of the wiki?", "Hollyhock7"
    first, second = (
        Event(
            "e",
            "turn.recorded",
            payload_of("turn.recorded", "turns", key, session_id="s") | {"content": text},
        )
        for key, text in (("t1", asked), ("t2", said))
    )
    plan = plan_of(weak={said: "password"})
    before, safe = plan.after([first, second])
    assert (before["content"], safe["content"]) == (asked, redact_reply(said, asked)[0])
    assert safe["content"] != said
    assert plan.after([first, Event("e", "turn.recorded", safe)]) == [before, safe]
