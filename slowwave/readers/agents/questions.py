"""Questions that an agent asks a person by a call, which all agents write down alike."""

import json
from collections.abc import Mapping

from slowwave.readers.files import list_of, object_of


def questions_in(arguments: Mapping[str, object]) -> list[str]:
    """The questions in the arguments of a call, each with what the person can choose of."""
    return [_with_choices(question) for question in map(object_of, list_of(arguments.get("questions")))]


def object_in(text: object) -> Mapping[str, object]:
    """The JSON object in a text; empty where it holds none."""
    try:
        return object_of(json.loads(text, strict=False)) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}


def _with_choices(question: Mapping[str, object]) -> str:
    labels = [str(object_of(option).get("label")) for option in list_of(question.get("options"))]
    return f"{question.get('question')} ({', '.join(labels)})" if labels else str(question.get("question"))
