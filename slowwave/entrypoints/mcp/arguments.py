"""Arguments of tools, made from the request models: their bounds, defaults and descriptions stand there alone."""

import inspect
from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args

from pydantic import BeforeValidator, Field
from pydantic.fields import FieldInfo

from slowwave.entrypoints.mcp.asking import Caller
from slowwave.schemas.refusals import Request

THIS_PROJECT, ALL_PROJECTS = ".", "*"
"""Names of the project in which the client works, and of none in particular."""

CONVERSATION = ("conversation_id", "context")
"""Fields of requests that name the conversation: the transport fills them in, and no model is asked for them."""


def parameters_of(
    model: type[Request], *, without: tuple[str, ...] = (), narrowed: type[Request] | None = None
) -> list[inspect.Parameter]:
    """The fields of a request as parameters of a function; those of `narrowed` have other bounds or defaults here."""
    fields = model.model_fields | (narrowed.model_fields if narrowed is not None else {})
    return [
        _parameter(name, field) for name, field in fields.items() if name not in (*without, *CONVERSATION)
    ]


def arguments_of(model: type[Request], given: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Keywords for a method of `Memory`: what was given, and what the transport knows of the caller."""
    named = given.get("project")
    known = {
        **dict.fromkeys(CONVERSATION, caller.conversation_id),
        **given,
        "project": {None: caller.project, THIS_PROJECT: caller.project, ALL_PROJECTS: None}.get(named, named),
    }
    return {name: value for name, value in known.items() if name in model.model_fields and value is not None}


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    told = Field(description=field.description)
    kinds = [
        one
        for one in (field.annotation, *get_args(field.annotation))
        if isinstance(one, type) and one in _PLAIN
    ]
    strict = [BeforeValidator(_PLAIN[kinds[0]])] if kinds else []
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.is_required() else field.get_default(),
        annotation=Annotated[(field.annotation, *field.metadata, *strict, told)],
    )


def _number(given: object) -> object:
    """A number of JSON as it is; a text or a boolean is none, though Pydantic would make one of it."""
    if isinstance(given, bool | str):
        raise ValueError("give a number")  # of a TypeError Pydantic makes no error of the field
    return given


def _boolean(given: object) -> object:
    if not isinstance(given, bool):
        raise ValueError("give true or false")
    return given


_PLAIN: Final = {int: _number, float: _number, bool: _boolean}
