"""A neural model in the process: what its folder says is done, another model is another embedder, faults are said."""

import json
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="the extra slowwave[onnx] is not installed")

from slowwave.errors import ConfigError
from slowwave.models.embed import onnx
from slowwave.models.embed.choice import check_embedder, open_embedder
from slowwave.settings.groups import EmbeddingSettings
from tests.tiny_onnx import vectors_of, words_of, write_model

TEXTS = [
    "The kiln is hot.",
    "The invoice was paid by card, and a zebra has stripes.",
    "query: passage: how was the bill paid?",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny", TEXTS)


def opened(folder: Path, **more):
    embedder, _ = open_embedder(EmbeddingSettings(provider="onnx", folder=folder, **more))
    assert embedder is not None
    return embedder


def mean_of(text: str) -> np.ndarray:
    """The unit mean of the words' vectors, to which the tokenizer's own two add nothing."""
    words = words_of(TEXTS)
    total = sum(vectors_of(words)[words.index(word)] for word in text.lower().split())
    return total / np.linalg.norm(total)


def test_a_text_is_the_mean_of_its_tokens_whatever_else_is_in_the_batch(folder):
    texts = ["kiln", "the kiln is hot the kiln is hot", "zebra has stripes"] * (onnx.TEXTS_A_CALL // 2)
    made = opened(folder).embed_documents(texts)
    assert made.vectors.dtype == np.float32
    np.testing.assert_allclose(made.vectors, [mean_of(text) for text in texts], atol=1e-5)
    for text, row in zip(texts, made.vectors, strict=True):
        np.testing.assert_allclose(opened(folder).embed_documents([text]).vectors[0], row, atol=1e-5)


def test_what_the_model_knows_nothing_of_is_a_failure_and_no_place(folder):
    made = opened(folder).embed_documents(["kiln", "fjord", ""])
    assert set(made.failures) == {1, 2}
    assert np.isnan(made.vectors[1:]).all()


def test_a_model_that_reads_its_first_token_gets_that_one(tmp_path):
    folder = write_model(tmp_path / "first", TEXTS, pooling="cls")
    file = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    (folder / "tokenizer.json").write_text(json.dumps(file | {"post_processor": None}), encoding="utf-8")
    made = opened(folder).embed_documents(["kiln is hot"])
    np.testing.assert_allclose(made.vectors[0], mean_of("kiln"), atol=1e-5)


def test_a_text_is_cut_where_the_model_stops_reading_and_counted(folder):
    room = 10  # of twelve tokens, two are the tokenizer's own
    whole, longer = " ".join(["kiln"] * room), " ".join(["kiln"] * room + ["zebra"])
    made = opened(folder).embed_documents([whole, longer])
    assert made.cut_count == 1
    np.testing.assert_allclose(made.vectors[0], made.vectors[1], atol=1e-5)
    later = " ".join(["kiln"] * (room - 1) + ["zebra"])
    assert float(opened(folder).embed_documents([later]).vectors[0] @ made.vectors[0]) < 0.999


def test_the_id_names_the_model_and_another_weight_or_use_is_another_id(folder, tmp_path):
    name = opened(folder).embedder_id
    assert name.startswith("onnx/tiny-")
    assert name.endswith("/16/v0")
    (folder / "README.md").write_text("read me", encoding="utf-8")
    assert opened(folder).embedder_id == name
    assert opened(shutil.copytree(folder, tmp_path / "copy" / "tiny")).embedder_id == name
    others = [
        write_model(tmp_path / "a" / "tiny", TEXTS, max_tokens=11),
        write_model(tmp_path / "b" / "tiny", TEXTS, pooling="cls"),
        write_model(tmp_path / "c" / "tiny", [*TEXTS, "fjord"]),
    ]
    network = bytearray((folder / "model.onnx").read_bytes())
    network[len(network) // 2] ^= 1
    (folder / "model.onnx").write_bytes(network)
    assert len({name, *(opened(path).embedder_id for path in [folder, *others])}) == 5


def test_a_folders_name_chooses_prefixes_and_thresholds(tmp_path):
    embedder = opened(write_model(tmp_path / "multilingual-e5-small", TEXTS))
    assert embedder.profile.query_prefix == "query: "
    assert embedder.dims == 16, "the folder says how wide it is"
    np.testing.assert_allclose(embedder.embed_query("kiln"), mean_of("query : kiln"), atol=1e-5)
    mine = opened(write_model(tmp_path / "tiny", TEXTS), query_prefix="zebra ", document_prefix="")
    np.testing.assert_allclose(mine.embed_query("kiln"), mean_of("zebra kiln"), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("model.onnx", None, "lacks model.onnx"),
        ("tokenizer.json", None, "lacks tokenizer.json"),
        ("1_Pooling/config.json", None, "lacks 1_Pooling/config.json"),
        ("1_Pooling/config.json", '{"pooling_mode": "lasttoken"}', "needs lasttoken"),
        ("modules.json", '[{"type": "sentence_transformers.models.Dense"}]', "needs Dense"),
        ("modules.json", "{broken", "no valid sentence-transformers"),
        ("config.json", "[]", "no valid sentence-transformers"),
        ("model.onnx", "no network", "cannot be read"),
        ("tokenizer.json", "{}", "cannot be read"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said_in_one_line(folder, name, content, told):
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=told) as raised:
        opened(folder).embed_query("kiln")
    assert str(folder) in str(raised.value)


def test_a_folder_is_taken_before_any_server_and_doctor_says_which_and_why(folder, monkeypatch):
    def refuse(*_):
        raise AssertionError("the network was touched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    [(_, is_open, note), (_, is_sound, found)] = check_embedder(EmbeddingSettings(folder=folder))
    assert is_open
    assert "onnx/tiny-" in note
    assert f"embedding.folder names {folder}" in note
    assert is_sound, found


def test_what_is_missing_is_asked_for(folder, monkeypatch):
    with pytest.raises(ConfigError, match=r"docs/embedders\.md"):
        open_embedder(EmbeddingSettings(provider="onnx"))
    monkeypatch.setattr(onnx, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'slowwave\[onnx\]'"):
        open_embedder(EmbeddingSettings(folder=folder))
