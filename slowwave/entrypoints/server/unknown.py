"""One rule for query parameters that a route does not have: refused, so that a misspelled one is not passed by."""

import re
from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant  # codespell:ignore
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

NAME_SHOWN = re.compile(r"[a-z_]{1,40}")
"""Names that a refusal repeats: those that a parameter could have, and no text or secret."""


async def refuse_unknown(request: Request) -> None:
    """Refuse a request with a query parameter that its route does not have.

    Raises:
        RequestValidationError: names the first one.
    """
    if not request.query_params:
        return
    known = {*_names(request.scope["route"].dependant)}  # codespell:ignore
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        name = unknown[0] if NAME_SHOWN.fullmatch(unknown[0]) else ""
        place = ("query", name) if name else ("query",)
        msg = "there is no such parameter here"
        more = f"; there is {', '.join(sorted(known))}" if known else ""
        raise RequestValidationError([{"type": "unknown_parameter", "loc": place, "msg": msg + more}])


def _names(route: Dependant) -> Iterator[str]:  # codespell:ignore
    """Names of the query parameters of a route and of what it depends on; those in a model are its fields."""
    for one in route.query_params:
        model = one.field_info.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            yield from (field.alias or name for name, field in model.model_fields.items())
        else:
            yield one.alias
    for below in route.dependencies:
        yield from _names(below)
