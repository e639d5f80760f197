"""Full text in memory: BM25 by its formula, whatever the way in which the index came about."""

from math import log

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowwave.language.terms import query_terms, terms_of
from slowwave.store.bm25 import MOST_SEGMENTS, TextIndex

WORDS = st.sampled_from(["ferry", "limit", "limits", "token", "Ångström", "über", "a1", ""])
TEXTS = st.lists(st.lists(WORDS, max_size=5).map(" ".join), max_size=12)


def index_of(texts: list[str]) -> TextIndex:
    rows = np.arange(len(texts), dtype=np.int32)
    whole = pl.Series(texts, dtype=pl.String)
    return TextIndex((), 0).updated(rows, whole, kept=np.array([], np.int32), height=len(texts))


def test_scores_are_bm25():
    index = index_of(["red apple", "blue", "red", "green red"])
    idf = log(1 + (4 - 3 + 0.5) / (3 + 0.5))
    by_length = {length: idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length / 1.5)) for length in (1, 2)}
    assert index.scores("Red?") == pytest.approx([by_length[2], 0, by_length[1], by_length[2]], rel=1e-5)
    assert index.scores("red red") == pytest.approx(2 * index.scores("red"))
    assert not index.scores("?!").any()
    assert not index.scores("yellow").any()


def test_words_are_folded_and_cut_to_their_stems():
    assert query_terms("Limits, LIMITED: Ångström/straße") == ("limit", "limit", "angstrom", "strass")
    assert query_terms("x" * 41 + " kept") == ("kept",)
    assert terms_of(pl.Series(["", None, "two words"], dtype=pl.String)).rows() == [(2, "two"), (2, "word")]


@given(TEXTS, st.lists(TEXTS, max_size=MOST_SEGMENTS + 2), st.data())
def test_an_index_that_was_changed_is_the_index_of_what_is_there_now(first, later, data):
    index, present = index_of(first), first
    for new in later:
        stays = [data.draw(st.booleans()) for _ in present]
        order = data.draw(st.permutations(range(sum(stays) + len(new))))
        kept, place = np.full(len(present), -1, np.int32), 0
        following: list[str] = [""] * len(order)
        for row, is_kept in enumerate(stays):
            if is_kept:
                kept[row], following[order[place]], place = order[place], present[row], place + 1
        rows = np.array(order[place:], np.int32)
        for row, text in zip(rows, new, strict=True):
            following[row] = text
        texts = pl.Series(new, dtype=pl.String)
        index, present = index.updated(rows, texts, kept=kept, height=len(following)), following
    again = index_of(present)
    for word in ("ferry", "limit token", "angstrom uber a1"):
        found = index.scores(word)
        assert found == pytest.approx(again.scores(word), rel=1e-4)


@given(TEXTS, TEXTS, st.data())
def test_two_indices_together_score_as_one_of_what_is_there(here, behind, data):
    is_gone = np.array([data.draw(st.booleans()) for _ in here], bool)
    joined = index_of(here).joined(index_of(behind), is_gone)
    there = [text for text, gone in zip(here, is_gone, strict=True) if not gone]
    stays = np.concatenate([~is_gone, np.ones(len(behind), bool)])
    for word in ("ferry", "limit token"):
        found = joined.scores(word)
        assert found[stays] == pytest.approx(index_of([*there, *behind]).scores(word), rel=1e-4)
        assert not found[~stays].any()


def test_an_index_of_many_pieces_or_of_texts_that_are_gone_is_made_anew():
    index = index_of(["ferry"] * 300)
    assert not index.is_worn
    none = np.full(300, -1, np.int32)
    assert index.updated(np.arange(2), pl.Series(["a1", "ferry"]), kept=none, height=2).is_worn
    for _ in range(MOST_SEGMENTS):
        stays = np.arange(index.height, dtype=np.int32)
        place, text = np.array([index.height]), pl.Series(["token"])
        index = index.updated(place, text, kept=stays, height=index.height + 1)
    assert index.is_worn
