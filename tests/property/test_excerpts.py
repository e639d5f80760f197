"""Excerpts by question: whatever the text, they keep their length, their order and the whole of its characters."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from slowwave.language.excerpt import asked_terms, excerpt

WORDS = st.sampled_from(
    [
        "kiln",
        "Kilns",
        "copper",
        "glaze",
        "at",
        "the",
        "1,240",
        "`src/kiln_map.py`",
        "oven.",
        "e\u0301te\u0301!",
        "\U0001f469\u200d\U0001f680",
    ]
)
LINES = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=60).map("\n".join)
TEXTS = LINES | st.text(max_size=3000)
QUESTIONS = st.lists(WORDS, max_size=4).map(" ".join)
LENGTHS = st.integers(40, 1200)


@given(TEXTS, QUESTIONS, LENGTHS)
def test_it_is_never_longer_than_asked_and_whole_where_the_text_is_short(text: str, question: str, most: int):
    found = excerpt(text, asked_terms(question), most=most)
    assert len(found.text) <= most
    if len(text) <= most:
        assert found.text == text


@given(TEXTS, QUESTIONS, LENGTHS)
def test_its_parts_stand_in_the_text_in_order_and_all_it_shows_is_of_them(
    text: str, question: str, most: int
):
    found = excerpt(text, asked_terms(question), most=most)
    assert sorted(found.parts) == found.parts
    assert all(0 <= start <= end <= len(text) for start, end in found.parts)
    assert all(before[1] <= after[0] for before, after in zip(found.parts, found.parts[1:], strict=False))
    at = 0
    for start, end in found.parts:
        at = found.text.index(text[start:end], at) + end - start
    shown = "".join(text[start:end] for start, end in found.parts)
    without = found.text.replace("...", "")
    assert len(without.split()) <= len(shown.split()) + len(found.parts)


@given(TEXTS, QUESTIONS, LENGTHS)
def test_marked_words_are_the_questions(text: str, question: str, most: int):
    asked = asked_terms(question)
    found = excerpt(text, asked, most=most)
    assert sorted(found.words) == found.words
    for start, end in found.words:
        assert asked_terms(found.text[start:end]).keys() & asked.keys()


@given(TEXTS, QUESTIONS, LENGTHS)
def test_no_character_of_several_is_parted(text: str, question: str, most: int):
    text = text.replace("\u200d", "")  # a run of any joined characters may be longer than all room
    found = excerpt(text, asked_terms(question), most=most)
    marks = [place for place, letter in enumerate(text) if unicodedata.category(letter) in ("Mn", "Mc", "Me")]
    runs = max((len(run) for run in _runs(marks)), default=0)
    if runs < 8:
        for start, end in found.parts:
            for place in (start, end):
                assert not (0 < place < len(text) and place in marks and start < end)


@given(st.lists(st.sampled_from(["kiln", "copper", "glaze", "salt"]), unique=True, max_size=4), st.data())
def test_every_word_of_the_question_that_the_text_says_is_in_it(words: list[str], data: st.DataObject):
    filler = [f"Line {number} tells of the weather." for number in range(80)]
    for word in words:
        filler.insert(data.draw(st.integers(0, len(filler))), f"Here it is the {word} that counts.")
    found = excerpt("\n".join(filler), asked_terms("salt kiln glaze copper"), most=300)
    assert all(word in found.text for word in words)


def _runs(places: list[int]) -> list[list[int]]:
    runs = list[list[int]]()
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs
