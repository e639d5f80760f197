"""Download a model for `embedding.folder`: `python -m slowwave.models.embed.fetch all-MiniLM-L6-v2 FOLDER`.

Only the ONNX network, its tokenizer and its configuration are downloaded from the Hugging Face hub. Without a network,
copy such a folder from another machine.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from slowwave.errors import ConfigError, SlowwaveError, TransientError
from slowwave.models.embed.onnx import LENGTHS, MODEL, MODULES, POOLING, TOKENIZER, open_onnx
from slowwave.settings.groups import EmbeddingSettings

OWNER = "sentence-transformers"
WANTED = (
    f"onnx/{MODEL}",
    f"onnx/{MODEL}_data",
    MODEL,
    f"{MODEL}_data",
    TOKENIZER,
    POOLING,
    MODULES,
    *LENGTHS,
)


def fetch(model: str, folder: Path) -> Path:
    """Download a model into `folder/NAME`, check that it can be used, and return that path.

    Raises:
        TransientError: the hub cannot be reached or has no such model.
        ConfigError: huggingface-hub or onnxruntime is not installed, or the model is not supported.
    """
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError("Downloading a model needs `pip install 'slowwave[onnx]'`.") from error
    owner, _, name = model.rpartition("/")
    made = folder.expanduser() / name
    try:
        snapshot_download(f"{owner or OWNER}/{name}", local_dir=made, allow_patterns=list(WANTED))
    except Exception as error:  # the client raises its own errors and those of its HTTP library
        raise TransientError(
            f"{owner or OWNER}/{name} cannot be fetched ({type(error).__name__}): check the name and the network. "
            "Without a network, copy the model's folder from another machine."
        ) from error
    open_onnx(EmbeddingSettings(provider="onnx", folder=made))
    return made.resolve()


def main(arguments: Sequence[str] | None = None) -> int:
    """Download a model and print the setting for it."""
    parser = argparse.ArgumentParser(prog="python -m slowwave.models.embed.fetch", description=__doc__)
    parser.add_argument("model", help="all-MiniLM-L6-v2, or with its owner: intfloat/multilingual-e5-small")
    parser.add_argument("folder", type=Path, help="where the folder NAME is created")
    options = parser.parse_args(arguments)
    try:
        made = fetch(options.model, options.folder)
    except SlowwaveError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(
        f"Saved {made}. Set SLOWWAVE_EMBEDDING__FOLDER={made}, then run `slowwave run reembed`.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
