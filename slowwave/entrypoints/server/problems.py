"""Errors as problem bodies (RFC 9457): mapped once from the error tree, without stored text or the caller's input."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, get_args
from urllib.parse import unquote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from slowwave import errors
from slowwave.entrypoints.server.unknown import NAME_SHOWN
from slowwave.schemas.refusals import plainly

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 5
SHORTEST_MASKED = 3
"""Characters of a caller's value from which it is looked for in a message."""

CUT = 40
"""Characters to which messages cut the values that they name."""

MASK = "..."

SHOWN_FIELDS = 20
"""Fields that a problem names: a batch may have thousands that are not possible."""

KINDS_OF_A_TIME = ("datetime", "str")
"""The kinds of value of the one union that requests have: Pydantic names them in the place of an error."""

KINDS: tuple[tuple[type[errors.SlowwaveError], int, str, str], ...] = (
    (errors.InputError, 422, "input", "The input is not usable"),
    (errors.NotFoundError, 404, "not-found", "There is no such thing"),
    (errors.BusyError, 503, "busy", "Somebody else writes: try again"),
    (errors.TransientError, 503, "transient", "It may work later: try again"),
    (errors.BudgetError, 429, "budget", "The budget is spent"),
    (errors.DamageError, 500, "damage", "The store is damaged"),
    (errors.ConfigError, 500, "configuration", "The configuration must be changed first"),
    (errors.OutputError, 500, "output", "A model's answer cannot be used"),
    (errors.ContractError, 500, "contract", "An error of Slowwave"),
    (errors.SlowwaveError, 500, "error", "An error of Slowwave"),
)
"""Status, type and title by class of the error tree; the first that fits counts."""

STATUSES = {
    400: ("bad-request", "The request is not usable"),
    401: ("key", "The key is missing or wrong"),
    403: ("origin", "Pages of other origins may not ask"),
    404: ("not-found", "There is no such thing"),
    405: ("method", "The address does not take this method"),
    408: ("slow", "The request took too long to arrive"),
    413: ("too-large", "The body is too large"),
    415: ("media-type", "The body is not JSON"),
    422: ("input", "The input is not usable"),
    421: ("host", "This server answers for the loopback alone"),
    500: ("unexpected", "An error of Slowwave"),
    503: ("overloaded", "Too many requests wait: try again"),
}


UNREADABLE_BODY = "the body cannot be read: send one JSON object of few levels"


class FieldProblem(BaseModel):
    """A field of a request that is not possible."""

    field: str = Field(description="The path of the field, such as `body.turns[0].text`.")
    problem: str


class Problem(BaseModel):
    """An error, as RFC 9457 has it."""

    type: str = Field(description="The kind of error, `urn:slowwave:problem:...`.")
    title: str
    status: int
    detail: str = Field(description="What happened and what to do; never stored text or what was sent.")
    instance: str = Field(description="`urn:slowwave:request:` and the id of the request.")
    fields: list[FieldProblem] | None = Field(
        default=None, description="Of a request that is not possible: its fields."
    )


def problem_body(
    status: int,
    kind: str,
    title: str,
    *,
    detail: str,
    request_id: str,
    fields: list[FieldProblem] | None = None,
) -> bytes:
    """A problem as JSON."""
    found = Problem(
        type=f"urn:slowwave:problem:{kind}",
        title=title,
        status=status,
        detail=detail,
        instance=f"urn:slowwave:request:{request_id}",
        fields=fields,
    )
    return found.model_dump_json(exclude_none=True).encode()


def add_problems(app: FastAPI) -> None:
    """Make every known error of the app a problem body; the guard makes one of what nobody foresaw."""
    app.add_exception_handler(errors.SlowwaveError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_request)
    app.add_exception_handler(HTTPException, _of_status)


def without_values(message: str, values: Iterable[str]) -> str:
    """A message without what the caller sent: each value, also cut short, becomes `...`."""
    forms = {
        form
        for value in values
        for form in _forms(value)
        if len(form) >= SHORTEST_MASKED and form in message  # of a large body hardly any, and few patterns
    }
    for form in sorted(forms, key=len, reverse=True):
        message = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", MASK, message)
    return message


def _forms(value: str) -> Iterable[str]:
    """A value as messages may spell it: bare, quoted, on one line, cut."""
    flat = " ".join(value.split())
    for form in (value, value.strip(), flat, repr(value)[1:-1]):
        yield form
        yield form[:CUT]
    yield from (word for word in flat.split() if len(word) > SHORTEST_MASKED * 2)


def _strings(document: Any) -> Iterable[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for value in document.values():
            yield from _strings(value)
    elif isinstance(document, list):
        for value in document:
            yield from _strings(value)


def _sent(request: Request) -> list[str]:
    """Every value that the caller sent, of path, query and body."""
    body = request.scope.get("slowwave.body", b"")
    try:
        document = json.loads(body) if body else None
    except (ValueError, RecursionError):
        document = None
    path = [str(value) for value in request.path_params.values()]
    return [*path, *map(unquote, path), *request.query_params.values(), *_strings(document)]


def _response(
    request: Request,
    status: int,
    kind: str,
    title: str,
    *,
    detail: str,
    fields: list[FieldProblem] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    body = problem_body(
        status,
        kind,
        title,
        detail=detail,
        request_id=request.scope.get("slowwave.request_id", ""),
        fields=fields,
    )
    more = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}  # noqa: PLR2004 # the status of RFC 9110
    return Response(body, status, {**more, **(headers or {})}, MEDIA_TYPE)


async def _of_ours(request: Request, error: Exception) -> Response:
    _, status, kind, title = next(one for one in KINDS if isinstance(error, one[0]))
    detail = without_values(str(error), _sent(request))
    return _response(request, status, kind, title, detail=detail)


async def _of_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = _innermost(error.errors())
    if any(one["type"] == "json_invalid" for one in found):
        kind, title = STATUSES[400]
        return _response(request, 400, kind, title, detail="the body is not JSON: send one JSON object")
    if any(one["loc"] == ("body",) for one in found) and not _says_json(request):
        kind, title = STATUSES[415]
        return _response(request, 415, kind, title, detail="send the header Content-Type: application/json")
    sent, shown = _sent(request), found[:SHOWN_FIELDS]
    masked = {message: without_values(message, sent) for message in {str(one["msg"]) for one in shown}}
    body = request.scope["route"].body_field if "route" in request.scope else None
    fields = [_field(one, masked[str(one["msg"])], body and body.field_info.annotation) for one in shown]
    kind, title = STATUSES[422]
    detail = "; ".join(f"{one.field}: {one.problem}" for one in fields[:3])
    return _response(request, 422, kind, title, detail=detail, fields=fields)


def _says_json(request: Request) -> bool:
    """Return whether a request has no body, or says that it is JSON."""
    return not request.scope.get("slowwave.body") or "json" in request.headers.get("content-type", "")


def _innermost(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The errors without those of a list or an object in which a part is wrong: they follow from it."""
    wrong = {one["loc"][:size] for one in found for size in range(1, len(one["loc"]))}
    return [one for one in found if one["loc"] not in wrong]


def _field(error: dict[str, Any], message: str, body: Any) -> FieldProblem:
    """One field's problem; a name that the caller made up is repeated where it could be one, as of a parameter."""
    place = error["loc"]
    if error["type"] == "extra_forbidden":
        name = place[-1:] if NAME_SHOWN.fullmatch(str(place[-1])) else ()
        known = ", ".join(_fields_at(body, place[1:-1]))
        return FieldProblem(
            field=_path((*place[:-1], *name)), problem=f"there is no such field here; there is {known}"
        )
    if place == ("body",) and error["type"] == "missing":
        return FieldProblem(
            field="body", problem="it is missing: send a JSON object, {} if you give no field"
        )
    return FieldProblem(field=_path(place), problem=plainly(message))


def _fields_at(kind: Any, place: Sequence[str | int]) -> list[str]:
    """The fields that a body of this type has at a place in it."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):  # a list or a union: what it is made of
        found = (
            _fields_at(part, place[1:] if isinstance(next(iter(place), ""), int) else place)
            for part in get_args(kind)
        )
        return next(filter(None, found), [])
    if not place:
        return list(kind.model_fields)
    field = kind.model_fields.get(str(place[0]))
    return [] if field is None else _fields_at(field.annotation, place[1:])


def _path(place: Sequence[str | int]) -> str:
    """The path of a field, such as `body.turns[0].text`; a union's kind of value is no part of it."""
    names = [f"[{one}]" if isinstance(one, int) else f".{one}" for one in place if one not in KINDS_OF_A_TIME]
    return "".join(names).removeprefix(".")


async def _of_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind, title = STATUSES.get(error.status_code, ("http", "The request cannot be answered"))
    headers = dict(error.headers or {})
    detail = UNREADABLE_BODY if error.status_code == 400 else title  # noqa: PLR2004 # the status of RFC 9110
    return _response(request, error.status_code, kind, title, detail=detail, headers=headers)
