"""JSON schemas as `tools/list` sends them: every tool of every server stands in an agent's context, used or not.

What is left out says nothing that the name, the description or the answer itself does not say: titles, null where
leaving an argument out means the same, defaults of nothing, texts that may not be empty or endless, and in answers
whatever lies below their first level. All other bounds, choices and descriptions of arguments stay. Arguments are
checked against the whole models.
"""

from typing import Any, Final

Schema = dict[str, Any]

_NULL: Final = {"type": "null"}

MOST_FIELDS: Final = 6
LONG_TEXT: Final = 100_000
"""A bound from which on nobody who writes an argument needs to know it."""


def short_input(schema: Schema) -> Schema:
    """The schema of a tool's arguments, with `$defs` in the places that name them."""
    known = schema.get("$defs", {})
    properties = {name: _argument(field, known) for name, field in schema.get("properties", {}).items()}
    required = {"required": schema["required"]} if schema.get("required") else {}
    return {"type": "object", "properties": properties, **required}


def short_output(schema: Schema) -> Schema:
    """The schema of a tool's answer, to its first level: which fields there are, and of what type.

    Of an answer of more than `MOST_FIELDS`, counts all of them, it says that it is an object.
    """
    known = schema.get("$defs", {})
    fields = schema.get("properties", {})
    if len(fields) > MOST_FIELDS:
        return {"type": "object"}
    return {"type": "object", "properties": {name: _answer(field, known) for name, field in fields.items()}}


def _argument(field: Schema, known: Schema) -> Schema:
    named = _resolved(field, known)
    forms = [_resolved(form, known) for form in named.pop("anyOf", []) if form != _NULL]
    if forms and all(form.get("type") == "string" for form in forms):
        forms = [min(forms, key=len)]  # a moment is a date or a word for one
    whole = {**named, **forms[0]} if len(forms) == 1 else {**named, "anyOf": forms} if forms else named
    whole.pop("title", None)
    if not whole.get("default"):
        whole.pop("default", None)
    if whole.get("maxLength", 0) >= LONG_TEXT:
        whole.pop("maxLength")
    if whole.get("minLength") == 1:
        whole.pop("minLength")
    if "items" in whole:
        whole["items"] = _argument(whole["items"], known)
    return whole


def _answer(field: Schema, known: Schema) -> Schema:
    named = _resolved(field, known)
    forms = [_resolved(form, known) for form in named.get("anyOf", [named])]
    types = sorted({str(form.get("type", "object")) for form in forms})
    return {"type": types[0] if len(types) == 1 else types}


def _resolved(field: Schema, known: Schema) -> Schema:
    """A copy of a schema, with what it refers to in its place."""
    rest = {name: part for name, part in field.items() if name != "$ref"}
    return {**known[field["$ref"].rpartition("/")[2]], **rest} if "$ref" in field else rest
