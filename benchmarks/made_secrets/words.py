"""Words from which passwords, phrases and surroundings are drawn; they stand in `words.toml`."""

import tomllib
from pathlib import Path

_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

STEMS: tuple[str, ...] = tuple(_WORDS["stems"].split())
SIMPLE: tuple[str, ...] = tuple(_WORDS["simple"].split())
SEED_WORDS: tuple[str, ...] = tuple(_WORDS["seed_words"].split())
FILLERS: dict[str, tuple[str, ...]] = {
    name: tuple(words.split()) for name, words in _WORDS["fillers"].items()
}
