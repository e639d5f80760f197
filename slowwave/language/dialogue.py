"""Signs of dialogue: who is named among speakers, and how much of a turn asks. Pure functions over text."""

import re
from collections.abc import Collection

READ_CHARACTERS = 2_000
"""Of a longer turn only so much is looked through for questions."""

_SENTENCES = re.compile(r"(?<=[.!?])\s+")


def asking_share(text: str) -> float:
    """The share of a turn's sentences that are questions, 0..1."""
    if "?" not in text:
        return 0.0
    sentences = [part for part in _SENTENCES.split(text[:READ_CHARACTERS].strip()) if part]
    return len([part for part in sentences if part.endswith("?")]) / max(len(sentences), 1)


def named_speaker(speakers: Collection[str], words: Collection[str]) -> str | None:
    """The one speaker whose first name is among the words of a question; None where it is none or several."""
    named = [speaker for speaker in speakers if speaker.lower().split()[0] in words]
    return named[0] if len(named) == 1 else None
