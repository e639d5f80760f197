"""The parts of a message of OpenCode: which of its texts were said, and what a person answered within it."""

from collections import Counter
from collections.abc import Iterator, Mapping

from slowwave.readers.files import list_of, object_of

_Fields = Mapping[str, object]


def said_texts(parts: list[object], skipped: Counter[str]) -> list[str]:
    """The texts of a message, and the questions in it that the person answered."""
    texts = []
    for part in map(object_of, parts):
        kind, text = part.get("type"), part.get("text")
        if asked := [state for state, _ in answered([part])]:
            questions = list_of(object_of(asked[0].get("input")).get("questions"))
            texts.append("\n".join(_question(object_of(question)) for question in questions))
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


def _question(question: _Fields) -> str:
    labels = [str(object_of(option).get("label")) for option in list_of(question.get("options"))]
    return f"{question.get('question')} ({', '.join(labels)})" if labels else str(question.get("question"))
