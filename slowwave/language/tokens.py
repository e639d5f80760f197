"""Tokens by a real tokenizer that is here without a network, counted and for vectors: the one in WordLlama's wheel.

It is Llama 2's (byte-pair encoding, 32,000 entries). Newer models have larger vocabularies and need fewer tokens
for the same text, so that a budget kept by this count is kept there too.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.errors import ConfigError

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

FEW_TEXTS = 32
"""Texts up to which one by one costs less than a batch, which goes to threads."""

LINE_CHARACTERS = 500
"""Texts up to this length are the lines of pages, and counted again and again."""

FILE = Path("tokenizers") / "l2_supercat_tokenizer_config.json"


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Tokens of each text, without markers of begin and end; 0 for the empty text.

    Raises:
        ConfigError: the tokenizer is not installed, or cannot be read.
    """
    if len(texts) > FEW_TEXTS:
        return [len(ids) for ids in token_ids(texts)]
    return [_line_tokens(text) if len(text) <= LINE_CHARACTERS else _tokens(text) for text in texts]


@lru_cache(maxsize=10_000)  # the frame of a page, its headings, and lines that are shown again
def _line_tokens(text: str) -> int:
    return _tokens(text)


def _tokens(text: str) -> int:
    (entry,) = _encoded([text])
    return len(entry)


def _whole(text: str) -> str:
    """A text without half characters, which have no tokens."""
    return text.encode("utf-8", "replace").decode("utf-8")


def token_ids(texts: Sequence[str]) -> list[list[int]]:
    """The numbers of each text's tokens, in order, without markers of begin and end.

    Raises:
        ConfigError: as `count_tokens`.
    """
    if not texts:
        return []
    return [entry.ids for entry in _encoded(texts)]


def _encoded(texts: Sequence[str]) -> "list[Encoding]":
    """The tokens of texts without their places, which nobody asks for: a third less work."""
    return _tokenizer().encode_batch_fast(list(map(_whole, texts)), add_special_tokens=False)


def package_file(name: Path) -> Path:
    """A file inside WordLlama's wheel, found without importing the package, which takes longer.

    Raises:
        ConfigError: it is not there.
    """
    found = find_spec("wordllama")
    folders = list(found.submodule_search_locations or ()) if found else []
    path = next((Path(folder) / name for folder in folders if (Path(folder) / name).is_file()), None)
    if path is None:
        raise ConfigError(f"{name.name} inside `wordllama` is not there: reinstall `wordllama`.")
    return path


@cache
def _tokenizer() -> "Tokenizer":
    """The tokenizer of the wheel, read once a process (about 0.1 s)."""
    from tokenizers import Tokenizer  # noqa: PLC0415

    try:
        return Tokenizer.from_file(str(package_file(FILE)))
    except Exception as error:  # the library raises plain Exception for a damaged file
        raise ConfigError(
            "the tokenizer inside `wordllama` cannot be read: reinstall `wordllama`."
        ) from error
