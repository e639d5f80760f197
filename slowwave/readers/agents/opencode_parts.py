"""The parts of a message of OpenCode: which of its texts were said, and what a person answered within it."""

from collections import Counter
from collections.abc import Iterator, Mapping

from slowwave.readers.agents.questions import questions_in
from slowwave.readers.files import object_of

_Fields = Mapping[str, object]


def said_texts(parts: list[object], skipped: Counter[str]) -> list[str]:
    """The texts of a message, and the questions in it that the person answered."""
    texts = []
    for part in map(object_of, parts):
        kind, text = part.get("type"), part.get("text")
        if asked := [state for state, _ in answered([part])]:
            texts.append("\n".join(questions_in(object_of(asked[0].get("input")))))
        elif kind != "text" or not isinstance(text, str):
            skipped["thinking" if kind == "reasoning" else "block without text"] += 1
        elif part.get("synthetic") or part.get("ignored"):
            skipped["injected context"] += 1
        elif text.strip():
            texts.append(text)
    return texts


def answered(parts: list[object]) -> Iterator[tuple[_Fields, str]]:
    """The state and the id of each call by which the assistant asked the person and got answers."""
    for part in map(object_of, parts):
        state = object_of(part.get("state"))
        is_asked = part.get("type") == "tool" and part.get("tool") == "question"
        if (
            is_asked
            and state.get("status") == "completed"
            and object_of(state.get("metadata")).get("answers")
        ):
            yield state, str(part.get("callID"))
