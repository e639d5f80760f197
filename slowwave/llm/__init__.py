"""The gateway to the language model: the one place that knows Instructor, OpenAI's client and Ollama's models.

A request goes in, an outcome comes out: a validated answer, or an error with the reason. One item's failure
never stops the others, an outage costs a few requests and not one for each item, and a budget is a bound.

    cache -> is the server up? budget left? does it fit? -> send (repeated when it can pass) -> validate
          -> the model is shown its mistake and asked again -> cache
"""

from slowwave.llm.checks import check_llm
from slowwave.llm.gateway import LLM, open_llm
from slowwave.llm.requests import Outcome, Request

__all__ = ["LLM", "Outcome", "Request", "check_llm", "open_llm"]
