"""The messages that ask a model again: its own unusable answer, and what is wrong with it.

Instructor's own speak of a function to recall in every mode, repeat all earlier tries, and show pydantic's errors as
they are. Here the last try alone is shown, in the words of the mode in use: a tool's result where the model called a
tool, a plain message otherwise.
"""

import re
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from slowwave.llm.requests import Request

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessage

MOST_PROBLEMS = 8
"""Problems of an answer that the model is told; with more it does the rest again anyway."""

_MOST_LETTERS = 400
_PYDANTIC = re.compile(r"^(?:Value error|Assertion failed), ")


def corrections(
    request: Request, message: "ChatCompletionMessage", text: str, *, remark: str
) -> list[dict[str, Any]]:
    """The messages that follow the page when it is sent again.

    `message` is the last answer and `text` its JSON; `remark` says what was wrong before the JSON was looked at (it
    was cut, refused, not sent), "" for nothing.
    """
    wrong = "\n".join(f"- {problem}" for problem in _problems(request, text, remark))
    if message.tool_calls:
        call = message.tool_calls[0].model_dump(exclude_none=True)
        again = f"Call {request.answer.__name__} again with the whole answer, corrected."
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": f"This answer cannot be used:\n{wrong}\n{again}",
            },
        ]
    told = (
        f"Your answer cannot be used:\n{wrong}\nGive the whole answer again, corrected, as one JSON object."
    )
    said = [{"role": "assistant", "content": message.content}] if message.content else []
    return [*said, {"role": "user", "content": told}]


def _problems(request: Request, text: str, remark: str) -> list[str]:
    """Problems of an answer as lines: which field of which item is wrong, and how."""
    told = [remark] if remark else []
    try:
        request.answer.model_validate_json(text, context=dict(request.context))
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        if [item["type"] for item in found] == ["json_invalid"]:
            return told or ["it is not one JSON object with nothing around it"]
        lines = [_line(item["loc"], item["msg"]) for item in found]
        more = len(lines) - MOST_PROBLEMS
        return told + lines[:MOST_PROBLEMS] + ([f"{more} more of the kind"] if more > 0 else [])
    return told or ["it is not the answer that was asked for"]


def _line(loc: tuple[int | str, ...], message: str) -> str:
    """`cells[2].evidence: use only the numbers 1 to 9`: items are counted from 0, as in JSON."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")
    said = _PYDANTIC.sub("", message)[:_MOST_LETTERS]
    return f"{path}: {said}" if path else said
