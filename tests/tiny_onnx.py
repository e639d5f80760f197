"""A neural model of a few kilobytes: each known word is a vector, and a text is what its folder says to do with them.

The network is one step, `Gather`: it is written here in protobuf's own bytes, for the `onnx` package is no dependency.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

DIMS = 16
ADDED = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
FLOAT, INT64 = 1, 7


def words_of(texts: Sequence[str]) -> list[str]:
    """The vocabulary: what the tokenizer adds, then the words of the texts."""
    split = pre_tokenizers.BertPreTokenizer()
    return [*ADDED, *sorted({word for text in texts for word, _ in split.pre_tokenize_str(text.lower())})]


def vectors_of(words: Sequence[str]) -> np.ndarray:
    """A vector for each word, (words, DIMS); nothing for what the tokenizer adds."""
    made = [np.random.default_rng(list(word.encode())).normal(size=DIMS) for word in words]
    return np.array([row * (word not in ADDED) for word, row in zip(words, made, strict=True)], np.float32)


def write_model(
    folder: Path, texts: Sequence[str], *, pooling: str = "mean", max_tokens: int = 12, pools=False
) -> Path:
    """A model's folder that knows the words of these texts; with `pools` the network itself makes one row a text."""
    words = words_of(texts)
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(network(vectors_of(words), pools=pools))
    tokenizer(words).save(str(folder / "tokenizer.json"))
    described = {
        "config.json": {"hidden_size": DIMS, "max_position_embeddings": 512, "pad_token_id": 0},
        "sentence_bert_config.json": {"max_seq_length": max_tokens},
        "modules.json": [
            {"type": f"sentence_transformers.models.{one}"} for one in ("Transformer", "Pooling")
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": DIMS,
            "pooling_mode_cls_token": pooling == "cls",
            "pooling_mode_mean_tokens": pooling == "mean",
            "pooling_mode_max_tokens": pooling == "max",
        },
    }
    for name, told in described.items():
        (folder / name).write_text(json.dumps(told), encoding="utf-8")
    return folder


def tokenizer(words: Sequence[str]) -> Tokenizer:
    """One token a word, between two of its own; its file asks for a fixed length, as those of real models do."""
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    made.enable_truncation(5)
    made.enable_padding(length=5)
    return made


def network(vectors: np.ndarray, *, pools: bool = False) -> bytes:
    """ONNX's ModelProto: `last_hidden_state` of `input_ids`, or with `pools` their mean as `sentence_embedding`."""
    weights = (
        b"".join(_number(1, size) for size in vectors.shape)
        + _number(2, FLOAT)
        + _bytes(8, b"words")
        + _bytes(9, vectors.astype("<f4").tobytes())
    )
    gather = _texts(1, "words", "input_ids") + _texts(2, "last_hidden_state") + _texts(4, "Gather")
    axes = _texts(1, "axes") + _number(8, 1) + _number(20, 7)
    flat = _texts(1, "keepdims") + _number(3, 0) + _number(20, 2)
    mean = _texts(1, "last_hidden_state") + _texts(2, "sentence_embedding") + _texts(4, "ReduceMean")
    mean += _bytes(5, axes) + _bytes(5, flat)
    nodes = [gather, mean] if pools else [gather]
    outputs = [_value("last_hidden_state", FLOAT, "batch", "tokens", DIMS)]
    outputs += [_value("sentence_embedding", FLOAT, "batch", DIMS)] if pools else []
    inputs = [_value(name, INT64, "batch", "tokens") for name in ("input_ids", "attention_mask")]
    graph = (
        b"".join(_bytes(1, node) for node in nodes)
        + _texts(2, "tiny")
        + _bytes(5, weights)
        + b"".join(_bytes(11, value) for value in inputs)
        + b"".join(_bytes(12, value) for value in outputs)
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _texts(1, "") + _number(2, 13))


def _value(name: str, kind: int, *shape: str | int) -> bytes:
    sizes = b"".join(
        _bytes(1, _texts(2, size) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    return _texts(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, sizes)))


def _texts(field: int, *texts: str) -> bytes:
    return b"".join(_bytes(field, text.encode()) for text in texts)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _varint(number: int) -> bytes:
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + _varint(high) if high else bytes([low])
