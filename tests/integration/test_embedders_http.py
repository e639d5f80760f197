import numpy as np
import pytest

from slowwave.errors import ConfigError, TransientError
from slowwave.models.embed import choice, servers
from slowwave.models.embed.choice import open_embedder
from slowwave.settings.groups import EmbeddingSettings
from tests.servers import (
    DROPPED,
    GARBLED,
    OVERLOADED,
    PAGE,
    RESET,
    Fault,
    OllamaServer,
    OpenAIServer,
    hashed_vector,
    rate_limited,
    refused,
    silence,
)

NOMIC = "nomic-embed-text"
EMBED = "/api/embed"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch):
    monkeypatch.setattr(servers, "BACKOFF_SECONDS", 0.0)


def wide(text: str) -> list[float]:
    return hashed_vector(text, 768)


def ollama(**options) -> OllamaServer:
    return OllamaServer(**({"models": {NOMIC: {}}, "embed": wide} | options))


def openai(**options) -> OpenAIServer:
    options = {
        "models": ["text-embedding-3-small"],
        "embed": lambda text: hashed_vector(text, 1536),
    } | options
    return OpenAIServer(**options)


def for_ollama(server, **options) -> EmbeddingSettings:
    return EmbeddingSettings(
        **({"provider": "ollama", "base_url": server.url, "transport_retries": 1} | options)
    )


def for_openai(server, **options) -> EmbeddingSettings:
    given = {
        "provider": "openai",
        "base_url": server.url,
        "api_key": "k",
        "model": "text-embedding-3-small",
        "transport_retries": 1,
    }
    return EmbeddingSettings(**(given | options))


def unit(vector: list[float]) -> np.ndarray:
    return np.array(vector) / np.linalg.norm(vector)


def test_documents_and_questions_go_out_in_batches_with_their_prefixes(monkeypatch):
    monkeypatch.setattr("slowwave.models.embed.batches.BATCH_SIZE", 2)
    with ollama() as server:
        embedder, _ = open_embedder(for_ollama(server))
        made = embedder.embed_documents(["one", "two", "three"])
        question = embedder.embed_query("four")
        sent = server.bodies(EMBED)
    assert [body["input"] for body in sent] == [
        ["search_document: one", "search_document: two"],
        ["search_document: three"],
        ["search_query: four"],
    ]
    assert all(body["truncate"] is False for body in sent)
    np.testing.assert_allclose(made.vectors[2], unit(wide("search_document: three")), atol=1e-6)
    np.testing.assert_allclose(question, unit(wide("search_query: four")), atol=1e-6)
    assert embedder.embedder_id == "ollama/nomic-embed-text/768/v1"


def test_a_batch_that_breaks_the_server_loses_only_the_text_that_broke_it():
    with ollama(fails_on=lambda text: "poison" in text) as server:
        embedder, _ = open_embedder(for_ollama(server))
        made = embedder.embed_documents(
            [f"text {number}" if number != 5 else "poison" for number in range(9)]
        )
    assert set(made.failures) == {5}
    assert "poison" not in made.failures[5]
    assert np.isnan(made.vectors[5]).all()
    np.testing.assert_allclose(made.vectors[6], unit(wide("search_document: text 6")), atol=1e-6)


def test_a_broken_server_is_an_outage_and_no_property_of_the_texts():
    with ollama(fails_on=lambda text: True) as server:
        embedder, _ = open_embedder(for_ollama(server))
        with pytest.raises(TransientError, match="broken"):
            embedder.embed_documents([f"text {number}" for number in range(64)])
        assert len(server.bodies(EMBED)) == 2


def test_a_text_that_is_too_long_all_the_same_is_halved_and_counted():
    with ollama(max_embed_chars=200) as server:
        embedder, _ = open_embedder(for_ollama(server))
        made = embedder.embed_documents(["short", "word " * 100])
    assert made.failures == {}
    assert made.cut_count == 1


def test_a_text_that_stays_too_long_is_a_failed_row():
    with ollama(max_embed_chars=40) as server:
        embedder, _ = open_embedder(for_ollama(server))
        made = embedder.embed_documents(["short", "word " * 1_000])
    assert set(made.failures) == {1}
    assert "too long" in made.failures[1]


@pytest.mark.parametrize("fault", [OVERLOADED, rate_limited(), RESET, DROPPED])
def test_what_can_pass_is_tried_again(fault):
    with ollama() as server:
        embedder, _ = open_embedder(for_ollama(server))
        server.fail(EMBED, fault)
        assert embedder.embed_documents(["one"]).failures == {}
        assert len(server.bodies(EMBED)) == 2


@pytest.mark.parametrize("fault", [GARBLED, PAGE])
def test_an_answer_that_cannot_be_read_is_no_vector(fault):
    with ollama() as server:
        embedder, _ = open_embedder(for_ollama(server))
        server.fail(EMBED, fault, fault)
        with pytest.raises(TransientError):
            embedder.embed_documents(["one"])


def test_a_missing_model_names_the_command_that_brings_it():
    with (
        ollama(models={"llama3.2": {}}) as server,
        pytest.raises(ConfigError, match="ollama pull nomic-embed-text"),
    ):
        open_embedder(for_ollama(server))


def test_vectors_of_another_width_are_refused():
    with ollama(embed=hashed_vector) as server:
        embedder, _ = open_embedder(for_ollama(server))
        with pytest.raises(ConfigError, match="8 dimensions, and 768"):
            embedder.embed_documents(["one"])


def test_a_model_without_a_profile_tells_its_width_itself():
    with ollama(models={"strange": {}}, embed=hashed_vector) as server:
        embedder, _ = open_embedder(for_ollama(server, model="strange"))
        assert embedder.embedder_id == "ollama/strange/8/v0"
        assert embedder.embed_documents(["one"]).vectors.shape == (1, 8)


def test_auto_says_how_to_get_the_model_that_ollama_lacks():
    with ollama(models={"llama3.2": {}}) as server:
        embedder, note = open_embedder(EmbeddingSettings(provider="auto", base_url=server.url))
    assert embedder.embedder_id.startswith("wordllama/")
    assert "ollama pull nomic-embed-text" in note


def test_auto_does_not_wait_long_for_a_silent_ollama(monkeypatch):
    monkeypatch.setattr(choice, "PROBE_SECONDS", 0.2)
    with ollama() as server:
        server.fail("/api/tags", silence(1.0))
        embedder, _ = open_embedder(EmbeddingSettings(provider="auto", base_url=server.url))
    assert embedder.embedder_id.startswith("wordllama/")


def test_an_openai_server_embeds_in_order(monkeypatch):
    monkeypatch.setattr("slowwave.models.embed.batches.BATCH_SIZE", 2)
    with openai() as server:
        embedder, _ = open_embedder(for_openai(server))
        made = embedder.embed_documents(["one", "two", "three"])
        sent = server.bodies("/v1/embeddings")
    assert [body["input"] for body in sent] == [["one", "two"], ["three"]]
    np.testing.assert_allclose(made.vectors[1], unit(hashed_vector("two", 1536)), atol=1e-6)
    assert embedder.embedder_id == "openai/text-embedding-3-small/1536/v1"


def test_a_text_that_is_refused_alone_is_a_failed_row_without_the_servers_words():
    with openai() as server:
        embedder, _ = open_embedder(for_openai(server))
        server.fail("/v1/embeddings", refused(400, message="your secret text is bad"))
        made = embedder.embed_documents(["secret text"])
    assert "secret" not in made.failures[0]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (refused(401), ConfigError),
        (refused(404), ConfigError),
        (refused(429, "insufficient_quota"), ConfigError),
        (PAGE, ConfigError),
    ],
)
def test_what_cannot_pass_on_an_openai_server_is_asked_once(fault: Fault, error):
    with openai() as server:
        embedder, _ = open_embedder(for_openai(server))
        server.fail("/v1/embeddings", fault)
        with pytest.raises(error):
            embedder.embed_documents(["one"])
        assert len(server.bodies("/v1/embeddings")) == 1
