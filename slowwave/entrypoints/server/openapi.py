"""The description of the API: its key, and its errors as problem bodies."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from slowwave.entrypoints.server.examples import EXAMPLES
from slowwave.entrypoints.server.problems import MEDIA_TYPE, STATUSES, Problem

OPEN_TAG = "health"
PROBLEMS = (400, 401, 403, 404, 408, 413, 415, 421, 422, 500, 503)
REF = "#/components/schemas/{model}"


def describe(app: FastAPI) -> None:
    """Give the app a description in which every route has the key and the problems."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign] # as FastAPI's documentation has it


def _described(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    parts = found.setdefault("components", {})
    problem = Problem.model_json_schema(ref_template=REF)
    schemas = parts.setdefault("schemas", {})
    schemas |= {**problem.pop("$defs", {}), "Problem": problem}
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    parts["securitySchemes"] = {
        "key": {"type": "http", "scheme": "bearer", "description": "The key in `<home>/server/key`."}
    }
    for place, path in found["paths"].items():
        for operation in path.values():
            if place in EXAMPLES:
                operation["requestBody"]["content"]["application/json"]["example"] = EXAMPLES[place]
            if OPEN_TAG not in operation.get("tags", ()):
                operation["security"] = [{"key": []}]
            for status in PROBLEMS:
                operation["responses"][str(status)] = _problem(status)
    return found


def _problem(status: int) -> dict[str, Any]:
    _, title = STATUSES[status]
    return {
        "description": title,
        "content": {MEDIA_TYPE: {"schema": {"$ref": REF.format(model="Problem")}}},
    }
