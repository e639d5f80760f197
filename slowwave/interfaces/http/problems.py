"""Errors as problem bodies (RFC 9457), mapped once from the error tree; they never hold stored text."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.types import Scope

from slowwave import errors
from slowwave.interfaces.client import EXIT
from slowwave.schemas.refusals import named, plainly

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 5

SHOWN_FIELDS = 20
"""Fields that a problem lists: a batch of turns may have thousands of impossible ones."""

KINDS: tuple[tuple[type[errors.SlowwaveError], int, str, str], ...] = (
    (errors.InputError, 422, "input", "The input is not usable"),
    (errors.NotFoundError, 404, "not-found", "There is no such thing"),
    (errors.BusyError, 503, "busy", "Another process writes: try again"),
    (errors.TransientError, 503, "transient", "It may work later: try again"),
    (errors.BudgetError, 429, "budget", "The budget is spent"),
    (errors.DamageError, 500, "damage", "The store is damaged"),
    (errors.ConfigError, 500, "configuration", "The configuration must be changed first"),
    (errors.OutputError, 500, "output", "A model's answer cannot be used"),
    (errors.ContractError, 500, "contract", "An error of Slowwave"),
    (errors.SlowwaveError, 500, "error", "An error of Slowwave"),
)
"""Status, kind and title by class of the error tree; the first class that fits counts."""

STATUSES = {
    400: ("bad-request", "The request is not usable"),
    401: ("key", "The key is missing or wrong"),
    403: ("origin", "Pages of other origins may not ask"),
    404: ("not-found", "There is no such thing"),
    405: ("method", "The address does not take this method"),
    409: ("stale", "The server has other settings or another version"),
    413: ("too-large", "The body is too large"),
    415: ("media-type", "The body is not JSON"),
    422: ("input", "The input is not usable"),
    500: ("unexpected", "An error of Slowwave"),
}
"""Kind and title of problems that no error of ours caused."""


class FieldProblem(BaseModel):
    """A field of a request that is not possible."""

    field: str = Field(description="The path of the field, such as `body.turns[0].text`.")
    problem: str


class Problem(BaseModel):
    """An error, as RFC 9457 defines it."""

    type: str = Field(description="The kind of error, `urn:slowwave:problem:...`.")
    title: str
    status: int
    detail: str = Field(description="What happened and what to do; never stored text.")
    instance: str = Field(description="`urn:slowwave:request:` and the id of the request.")
    fields: list[FieldProblem] | None = Field(
        default=None, description="The impossible fields of a request, where that is the problem."
    )


DESCRIBED: dict[int | str, dict[str, Any]] = {
    "default": {
        "model": Problem,
        "description": "A problem.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
"""How the description of the API shows the problems of a route."""


def problem(
    scope: Scope,
    status: int,
    detail: str,
    *,
    kind: str = "",
    title: str = "",
    fields: list[FieldProblem] | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """A problem as a response; kind and title are those of the status unless given."""
    usual_kind, usual_title = STATUSES.get(status, ("http", "The request cannot be answered"))
    found = Problem(
        type=f"urn:slowwave:problem:{kind or usual_kind}",
        title=title or usual_title,
        status=status,
        detail=detail,
        instance=f"urn:slowwave:request:{scope.get('slowwave.request_id', '')}",
        fields=fields,
    )
    more = {"Retry-After": str(RETRY_SECONDS)} if status == 503 else {}  # noqa: PLR2004 # the status of RFC 9110
    return Response(found.model_dump_json(exclude_none=True), status, {**more, **(headers or {})}, MEDIA_TYPE)


def of_error(scope: Scope, error: errors.SlowwaveError) -> Response:
    """The problem of an error of ours."""
    _, status, kind, title = next(one for one in KINDS if isinstance(error, one[0]))
    return problem(scope, status, str(error), kind=kind, title=title, headers={EXIT: str(error.exit_code)})


def add_problems(app: FastAPI) -> None:
    """Make every known error of the app a problem body; `security.Guard` makes one of unforeseen errors."""
    app.add_exception_handler(errors.SlowwaveError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_request)
    app.add_exception_handler(HTTPException, _of_status)


async def _of_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.SlowwaveError)
    return of_error(request.scope, error)


async def _of_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "the body cannot be read: send one JSON object of few levels"
    if error.status_code != 400:  # noqa: PLR2004 # FastAPI's status of a body that it could not parse
        detail = STATUSES.get(error.status_code, ("", str(error.detail)))[1]
    return problem(request.scope, error.status_code, detail, headers=dict(error.headers or {}))


async def _of_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = _innermost(error.errors())
    if any(one["type"] == "json_invalid" for one in found):
        return problem(request.scope, 400, "the body is not JSON: send one JSON object")
    is_unread = any(one["loc"] == ("body",) and one["type"] != "missing" for one in found)
    if is_unread and "json" not in request.headers.get("content-type", ""):
        return problem(request.scope, 415, "send the header Content-Type: application/json")
    fields = [_field(one) for one in found[:SHOWN_FIELDS]]
    detail = "; ".join(f"{one.field}: {one.problem}" for one in fields[:3])
    headers = {EXIT: str(errors.InputError.exit_code)}
    return problem(request.scope, 422, detail, fields=fields, headers=headers)


def _innermost(found: Any) -> list[dict[str, Any]]:
    """The errors without those of a list or object in which a part is wrong: they only follow from it."""
    wrong = {one["loc"][:size] for one in found for size in range(1, len(one["loc"]))}
    return [one for one in found if one["loc"] not in wrong]


def _field(error: dict[str, Any]) -> FieldProblem:
    """One field's problem in plain words."""
    said = plainly(error)
    if error["type"] == "missing" and error["loc"] == ("body",):
        said = "it is missing: send a JSON object, {} if you give no field"
    return FieldProblem(field=named(error["loc"]), problem=said)
