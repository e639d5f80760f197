"""The routes of the server, a file a subject; each file has one `router`.

The models of requests and answers are built when they are first used, which a command is the faster for. FastAPI wants
them whole before it makes a route of them: else it builds them anew at the first request, with a warning.
"""

from collections.abc import Iterator

from pydantic import BaseModel

import slowwave.interfaces.http.bodies
import slowwave.memory  # with the models of all that it answers
import slowwave.schemas.runs  # noqa: F401
from slowwave.schemas.refusals import Frozen, Request


def _below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in model.__subclasses__():
        yield one
        yield from _below(one)


for _model in (*_below(Request), *_below(Frozen)):
    _model.model_config["defer_build"] = False  # else FastAPI's own adapters of it wait as well
    _model.model_rebuild()
