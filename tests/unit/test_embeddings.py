import logging
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slowwave.errors import ConfigError, InputError
from slowwave.language.tokens import token_ids
from slowwave.models.embed import batches, profiles
from slowwave.models.embed import wordllama as wordllama_module
from slowwave.models.embed.choice import check_embedder, open_embedder
from slowwave.models.embed.profiles import (
    centred_profile,
    load_profile,
)
from slowwave.models.embed.relevance import Relevance, guessed_relevance, measured_relevance
from slowwave.models.embed.space import (
    CentredEmbedder,
    base_id_of,
    base_of,
    decode_directions,
    encode_directions,
    fit_directions,
    space_id_of,
)
from slowwave.settings.groups import EmbeddingSettings

WORDLLAMA = EmbeddingSettings(provider="wordllama")


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def wordllama():
    embedder, _ = open_embedder(WORDLLAMA)
    assert embedder is not None
    return embedder


def test_wordllama_embeds_without_touching_the_network(no_network):
    wordllama_module._weights.cache_clear()
    embedder, note = open_embedder(WORDLLAMA)
    made = embedder.embed_documents(["the invoice was paid", "zebras have stripes"])
    assert made.vectors.shape == (2, 256)
    assert made.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(made.vectors, axis=1), 1.0, rtol=1e-5)
    assert made.failures == {}
    assert "wordllama" in note


def test_a_text_that_the_model_knows_nothing_of_is_a_failed_row_and_not_a_place(wordllama):
    made = wordllama.embed_documents(["a word", "", "  \n ", "another word"])
    assert set(made.failures) == {1, 2}
    assert np.isnan(made.vectors[[1, 2]]).all()
    assert np.isfinite(made.vectors[[0, 3]]).all()


def test_a_zero_vector_is_a_failure_and_leaves_the_others_alone():
    made = batches.embed_in_batches(
        ["known", "unknown"],
        ask=lambda texts: np.array(
            [[3.0, 4.0] if text == "known" else [0.0, 0.0] for text in texts], np.float32
        ),
        dims=2,
        batch_size=8,
        max_tokens=10,
    )
    assert set(made.failures) == {1}
    np.testing.assert_allclose(made.vectors[0], [0.6, 0.8])
    assert np.isnan(made.vectors[1]).all()


def test_a_question_without_a_vector_says_so_instead_of_returning_nothing(wordllama):
    with pytest.raises(InputError, match="Search by words"):
        wordllama.embed_query("")


def test_a_long_text_is_cut_and_counted(wordllama):
    made = wordllama.embed_documents(["short", "word " * 5_000])
    assert made.cut_count == 1
    assert made.failures == {}


def test_half_a_character_does_not_stop_the_others(wordllama):
    assert wordllama.embed_documents(["fine", "broken \ud83d here"]).failures == {}


@pytest.mark.parametrize("text", ["word " * 900, "x=1;" * 900, "漢字" * 900, "a" * 9_000, " \n\t" * 3_000])
def test_a_cut_text_never_holds_more_pieces_than_allowed(text):
    end = batches.piece_cut(text, 100)
    assert len(batches.PIECE.findall(text[:end])) <= 100
    assert end == len(text) or len(batches.PIECE.findall(text)) > 100


def test_the_vectors_are_those_that_the_package_computes(monkeypatch):
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)  # it configures the root logger
    import wordllama as package

    texts = ["one", "the invoice was paid", "Zebras\tau\u00dferhalb \U0001f993 \ufffd " * 40, "  ", "x" * 500]
    theirs = package.WordLlama.load(cache_dir=Path(package.__file__).parent).embed(texts)
    ours = wordllama_module._means(wordllama_module._weights(), token_ids(texts))
    np.testing.assert_array_equal(ours, theirs)


def test_damaged_weights_are_said_in_one_line(tmp_path, monkeypatch):
    wordllama_module._weights.cache_clear()
    (tmp_path / "weights").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    monkeypatch.setattr(wordllama_module, "package_file", lambda _: tmp_path / "weights")
    with pytest.raises(ConfigError, match="reinstall `wordllama`"):
        open_embedder(WORDLLAMA)


@pytest.mark.processes
def test_importing_the_module_loads_no_model_library():
    libraries = "{'ollama', 'openai', 'wordllama', 'scipy'}"
    code = f"import sys, slowwave.models.embed.choice; print({libraries} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_none_means_no_embedder_and_says_what_that_costs():
    embedder, note = open_embedder(EmbeddingSettings(provider="none"))
    assert embedder is None
    assert "full-text" in note


def test_auto_falls_back_to_wordllama_where_ollama_is_away_and_says_so():
    embedder, note = open_embedder(EmbeddingSettings(provider="auto", base_url="http://127.0.0.1:9"))
    assert embedder.embedder_id.startswith("wordllama/")
    assert "Ollama does not answer" in note


def test_openai_without_a_key_or_an_address_asks_for_one():
    with pytest.raises(ConfigError, match="SLOWWAVE_EMBEDDING__API_KEY"):
        open_embedder(EmbeddingSettings(provider="openai"))


def test_every_profile_can_be_loaded_and_orders_its_thresholds():
    for name in profiles._profiles():
        model, _, is_centred = name.partition("+")
        profile = centred_profile(load_profile(model)) if is_centred else load_profile(model)
        assert profile.topic_threshold <= profile.near_threshold


@pytest.mark.parametrize(
    ("model", "dims", "query_prefix"),
    [
        ("nomic-embed-text", 768, "search_query: "),
        ("nomic-embed-text:latest", 768, "search_query: "),
        ("nomic-embed-text:v1.5", 768, "search_query: "),
        ("qwen3-embedding:8b", 0, ""),
        ("never-heard-of", 0, ""),
        ("all-minilm", 384, ""),
        ("all-minilm:33m", 384, ""),
        ("sentence-transformers/all-MiniLM-L6-v2", 384, ""),
        ("intfloat/multilingual-e5-small", 0, "query: "),
        ("e5-mistral-7b-instruct", 0, ""),
        ("BAAI/bge-small-en-v1.5", 0, "Represent this sentence for searching relevant passages: "),
        ("bge-m3", 1024, ""),
    ],
)
def test_a_model_finds_its_profile_by_name_and_another_size_does_not(model, dims, query_prefix):
    profile = load_profile(model)
    assert (profile.dims, profile.query_prefix) == (dims, query_prefix)


def test_doctor_sees_that_the_embedder_tells_texts_apart():
    checks = check_embedder(WORDLLAMA)
    assert [name for name, _, _ in checks] == ["embedder", "embedding"]
    assert all(passed for _, passed, _ in checks)


def test_doctor_reports_a_missing_server_instead_of_failing():
    [(name, passed, found)] = check_embedder(
        EmbeddingSettings(provider="ollama", base_url="http://127.0.0.1:9", transport_retries=0)
    )
    assert (name, passed) == ("embedder", False)
    assert "Ollama" in found


TALK = [
    f"Mara\nMara told Jonas about {subject}, and Jonas asked Mara {when}"
    for subject in ("the kiln", "a sourdough loaf", "her bicycle", "the tax form", "a violin", "the ferry")
    for when in ("why", "how much it was", "where it stands", "who made it", "since when", "for how long")
]


def centred_on(wordllama, texts, components=0):
    directions = fit_directions(wordllama.embed_documents(texts).vectors, components=components)
    name = space_id_of(wordllama.embedder_id, encode_directions(directions))
    profile = centred_profile(wordllama.profile)
    return CentredEmbedder(name, profile, guessed_relevance(profile), wordllama, directions)


def test_texts_that_name_the_same_people_lie_apart_once_their_common_directions_are_out(wordllama):
    centred = centred_on(wordllama, TALK)
    before, after = (one.embed_documents(TALK).vectors for one in (wordllama, centred))
    apart = ~np.eye(len(TALK), dtype=bool)
    assert np.median((before @ before.T)[apart]) > 0.5
    assert abs(np.median((after @ after.T)[apart])) < 0.2
    np.testing.assert_allclose(np.linalg.norm(after, axis=1), 1.0, rtol=1e-5)
    question = centred.embed_query("What did Mara tell Jonas about bread?")
    assert "loaf" in TALK[int((after @ question).argmax())]


def test_directions_are_stored_bit_for_bit_and_name_their_space(wordllama):
    directions = fit_directions(wordllama.embed_documents(TALK).vectors, components=3)
    text = encode_directions(directions)
    assert directions.shape == (4, 256)
    np.testing.assert_array_equal(decode_directions(text, 256), directions)
    name = space_id_of(wordllama.embedder_id, text)
    assert name.startswith("wordllama/l2_supercat/256/v1+")
    assert base_id_of(name) == base_id_of(wordllama.embedder_id) == wordllama.embedder_id
    assert space_id_of(wordllama.embedder_id, encode_directions(directions * 2)) != name
    with pytest.raises(ConfigError, match="rebuild"):
        decode_directions(text, 255)


def test_a_text_without_a_vector_stays_without_one_when_common_directions_are_out(wordllama):
    centred = centred_on(wordllama, TALK)
    made = centred.embed_documents(["a word", "", "another"])
    assert set(made.failures) == {1}
    assert np.isnan(made.vectors[1]).all()
    assert base_of(centred) is wordllama
    only = wordllama.embed_documents(["a word"]).vectors
    same = CentredEmbedder("x", wordllama.profile, wordllama.relevance, wordllama, only)
    assert set(same.embed_documents(["a word", "another"]).failures) == {0}, "nothing is left of it"
    with pytest.raises(InputError, match="Search by words"):
        same.embed_query("a word")


def test_prefixes_of_the_settings_replace_those_of_the_profile_and_name_another_space():
    nomic = load_profile("nomic-embed-text")
    other = load_profile("nomic-embed-text", query="ask: ")
    assert (other.query_prefix, other.document_prefix) == ("ask: ", nomic.document_prefix)
    assert other.prefix_version not in {
        nomic.prefix_version,
        load_profile("nomic-embed-text", query="").prefix_version,
    }


def test_the_best_of_many_unrelated_memories_scores_more_than_the_best_of_few():
    noise = Relevance(noise_mean=0.0, noise_std=0.08)
    best = [noise.noise_best(n) for n in (1, 6, 50, 500, 100_000)]
    assert best == sorted(set(best))
    assert noise.noise_best(6) < noise.noise_best(500)
    assert noise.strength(0.3, 50) > noise.strength(0.3, 5_000)


def test_four_of_five_questions_that_nothing_answers_stay_below_the_noise_of_random_vectors():
    random = np.random.default_rng(3)
    texts, fitted, asked = (random.normal(size=(count, 128)).astype(np.float32) for count in (400, 60, 500))
    texts, fitted, asked = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (texts, fitted, asked)
    )
    noise = measured_relevance(fitted, texts)
    below = float(((asked @ texts.T).max(axis=1) < noise.noise_best(400)).mean())
    assert 0.8 <= below < 1.0, "a tail a tenth longer than the normal one's"


def test_texts_whose_vectors_are_known_are_not_embedded_again(wordllama):
    centred = centred_on(wordllama, TALK)
    away = wordllama.embed_documents([TALK[0]]).vectors[0]
    known = replace(centred, known={"a kiln": away})
    made = known.embed_documents(["bread", "a kiln", ""])
    there = centred.embed_documents([TALK[0], "bread"]).vectors
    np.testing.assert_allclose(made.vectors[[1, 0]], there, atol=1e-6)
    assert set(made.failures) == {2}


def test_texts_of_one_length_go_together_and_vectors_keep_their_order():
    texts = ["a long text of words", "b", "another text of words", "cc"]
    asked = []

    def ask(batch):
        asked.append(batch)
        return np.array([[len(text), 1.0] for text in batch], np.float32)

    made = batches.embed_in_batches(texts, ask=ask, dims=2, batch_size=2, max_tokens=10)
    assert asked == [["b", "cc"], ["a long text of words", "another text of words"]]
    np.testing.assert_allclose(
        made.vectors[:, 0] / made.vectors[:, 1], [len(text) for text in texts], rtol=1e-5
    )


def test_a_setting_bounds_the_tokens_of_a_model_else_its_profile_does(wordllama):
    sent = []
    profile = load_profile("never-heard-of").model_copy(update={"dims": 2})

    def ask(texts):
        sent.extend(len(text.split()) for text in texts)
        return np.ones((len(texts), 2), np.float32)

    for most in (None, 100, 2000):
        settings = EmbeddingSettings(provider="openai", max_text_tokens=most)
        batches.batch_embedder("openai", "m", settings, profile, ask).embed_documents(["word " * 3000])
    assert sent == [512, 100, 2000]
