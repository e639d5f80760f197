"""Run a sentence-transformers model in the process with onnxruntime, from a folder and without a server.

The folder has `model.onnx` (or `onnx/model.onnx`), `tokenizer.json`, `config.json`, `1_Pooling/config.json` and, if the
model accepts fewer tokens than its network, `sentence_bert_config.json`. The folder's name selects the profile. The
first text loads tokenizer and network, once per process.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from slowwave.errors import ConfigError
from slowwave.models.embed.batches import batch_embedder, matrix
from slowwave.models.embed.profiles import load_profile
from slowwave.models.embed.protocol import Embedder
from slowwave.models.embed.relevance import Vectors
from slowwave.settings.groups import EmbeddingSettings

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
POOLING, CONFIG, MODULES = "1_Pooling/config.json", "config.json", "modules.json"
LENGTHS = {
    "sentence_bert_config.json": "max_seq_length",
    "tokenizer_config.json": "model_max_length",
    CONFIG: "max_position_embeddings",
}
"""Files with a limit of tokens per text, and its key in each; the smallest limit applies."""

SUPPORTED = {"Transformer", "Pooling", "Normalize"}
"""Module types that are implemented. A model with others is rejected: its vectors would be wrong without them."""

THREADS = 4
"""Upper limit of threads for one text or batch: a night shares the machine with other work."""

TEXTS_A_CALL = 8
"""Texts a call of the network: calls of 64 took 1.5 times the CPU, since all are padded to the longest."""

_loading = Lock()


def open_onnx(settings: EmbeddingSettings) -> Embedder:
    """Embedder for the model in `embedding.folder`; its id includes a digest of the model's files.

    Raises:
        ConfigError: no folder is configured, onnxruntime is not installed, or the folder lacks a usable model.
    """
    if settings.folder is None:
        raise ConfigError("embedding.folder is not set: docs/embedders.md says how to download a model.")
    if find_spec("onnxruntime") is None:
        raise ConfigError("embedding.folder needs onnxruntime: `pip install 'slowwave[onnx]'`.")
    folder = settings.folder.expanduser().resolve()
    model = _model(folder, _files(folder))
    profile = load_profile(
        folder.name, query=settings.query_prefix, document=settings.document_prefix
    ).model_copy(update={"dims": model.dims, "max_tokens": model.max_tokens})

    def ask(texts: list[str]) -> Vectors:
        return matrix(model.vectors(texts), len(texts), model.dims, folder.name)

    return batch_embedder("onnx", f"{folder.name}-{model.digest}", settings, profile, ask, model.cut_at)


@dataclass(frozen=True)
class OnnxModel:
    """A model with the properties read from its folder."""

    path: Path
    folder: Path
    dims: int
    digest: str
    pooling: str
    max_tokens: int

    def cut_at(self, text: str, max_tokens: int) -> int:
        """Character position where a text exceeds `max_tokens` or the model's limit; its length if it does not."""
        entry = self._loaded[0].encode(text)
        marks = entry.special_tokens_mask  # 1 for tokens that are not in the text, such as [CLS]
        ends = [end for (_, end), mark in zip(entry.offsets, marks, strict=True) if not mark]
        room = max(max_tokens - sum(marks), 1)
        return ends[min(room, len(ends)) - 1] if entry.overflowing or len(ends) > room else len(text)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts, (n, dims), not normalized. Fastest if neighbouring texts have similar lengths.

        Raises:
            ConfigError: model or tokenizer cannot be read, or they do not belong together.
        """
        try:
            calls = [texts[at : at + TEXTS_A_CALL] for at in range(0, len(texts), TEXTS_A_CALL)]
            return np.vstack([self._pooled(*self._states(call)) for call in calls])
        except Exception as error:  # onnxruntime's errors have no common base class
            raise _unusable(self.folder, "does not run", error) from error

    def _states(self, texts: Sequence[str]) -> tuple[Vectors, Vectors]:
        """The states of each text or of each of its tokens, and the mask of tokens that are no padding."""
        tokenizer, session = self._loaded
        entries = tokenizer.encode_batch(texts)
        ids, mask = (
            np.array([getattr(entry, name) for entry in entries], dtype=np.int64)
            for name in ("ids", "attention_mask")
        )
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        outputs = [output.name for output in session.get_outputs()]
        name = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
        (made,) = session.run([name], {given.name: known[given.name] for given in session.get_inputs()})
        return np.asarray(made, dtype=np.float32), mask.astype(np.float32)

    def _pooled(self, states: Vectors, mask: Vectors) -> Vectors:
        if states.ndim == 2:  # noqa: PLR2004 - already pooled by the network: one row per text
            return states
        if self.pooling == "cls":
            return states[:, 0]
        means: Vectors = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True).clip(1)
        return means

    @property
    def _loaded(self) -> tuple[Any, Any]:
        with _loading:  # concurrent first questions must not load it twice
            return self._loaded_once

    @cached_property
    def _loaded_once(self) -> tuple[Any, Any]:
        """Tokenizer and session."""
        import onnxruntime  # noqa: PLC0415
        from tokenizers import Tokenizer  # noqa: PLC0415

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(THREADS, os.cpu_count() or 1)
        options.add_session_config_entry(
            "session.intra_op.allow_spinning", "0"
        )  # no busy waiting between calls
        options.log_severity_level = 3
        try:
            tokenizer = Tokenizer.from_file(str(self.folder / TOKENIZER))
            session = onnxruntime.InferenceSession(
                str(self.path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # tokenizers raises plain Exception as well
            raise _unusable(self.folder, "cannot be read", error) from error
        # tokenizer.json may pad to a fixed length and truncate below the model's limit
        tokenizer.enable_padding()
        tokenizer.enable_truncation(self.max_tokens)
        return tokenizer, session


def _files(folder: Path) -> tuple[tuple[Path, int, int], ...]:
    """The model's files with size and modification time."""
    weights = sorted(folder.glob(f"{MODEL}*")) or sorted((folder / "onnx").glob(f"{MODEL}*"))
    described = [folder / name for name in (TOKENIZER, POOLING, MODULES, *LENGTHS)]
    files = [path for path in (*weights, *described) if path.is_file()]
    return tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files)


@lru_cache(maxsize=1)  # keep one model in memory
def _model(folder: Path, files: tuple[tuple[Path, int, int], ...]) -> OnnxModel:
    """The model in a folder; a changed file in `files` loads it again."""
    paths = {path.relative_to(folder).as_posix(): path for path, _, _ in files}
    network = paths.get(MODEL) or paths.get(f"onnx/{MODEL}")
    missing = [name for name in (TOKENIZER, POOLING, CONFIG) if name not in paths]
    if network is None or missing:
        raise ConfigError(f"{folder} is not a model folder: it lacks {missing[0] if network else MODEL}.")
    try:
        return _described(folder, network, paths)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unusable(folder, "has no valid sentence-transformers configuration", error) from error


def _described(folder: Path, network: Path, paths: dict[str, Path]) -> OnnxModel:
    """Read the model's properties from its files, given by their names relative to the folder."""
    described = {POOLING, MODULES, *LENGTHS}
    found = {name: json.loads(paths[name].read_bytes()) for name in described & paths.keys()}
    pooling, config = found[POOLING], found[CONFIG]
    kinds = {module["type"].rpartition(".")[2] for module in found.get(MODULES, ())}
    if other := kinds - SUPPORTED or {_pooling(pooling)} - {"mean", "cls"}:
        raise ConfigError(
            f"the model in {folder} needs {other.pop()}, which is not supported: choose another model."
        )
    width = pooling.get("word_embedding_dimension") or pooling.get("embedding_dimension")
    use = {
        "pooling": _pooling(pooling),
        "max_tokens": min(found[name][key] for name, key in LENGTHS.items() if found.get(name, {}).get(key)),
    }
    digest = hashlib.blake2b(json.dumps(use).encode())
    for name in sorted(paths.keys() - described):
        with paths[name].open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return OnnxModel(network, folder, width or config["hidden_size"], digest.hexdigest()[:8], **use)


def _pooling(config: dict[str, Any]) -> str:
    """Name of the pooling mode, from the current format (`pooling_mode`) or the older one (a flag per mode)."""
    chosen = [
        key.split("_")[2]
        for key, value in config.items()
        if key.startswith("pooling_mode_") and value is True
    ]
    return str(config.get("pooling_mode") or "+".join(chosen))


def _unusable(folder: Path, what: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"the model in {folder} {what} ({type(error).__name__}): download it again or choose another model."
    )
