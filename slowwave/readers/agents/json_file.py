"""A session that is one JSON object in a file of its own, held in memory whole, within a bound."""

import json
from pathlib import Path

from slowwave.errors import InputError
from slowwave.readers.files import open_bytes, shown_path
from slowwave.settings.readers import ReaderSettings


def json_object(path: Path, bounds: ReaderSettings) -> dict[str, object]:
    """The object; empty where the file is empty, or holds another JSON value.

    Raises:
        NotFoundError: There is no such file.
        InputError: It cannot be read, is no JSON, or is over `readers.conversation_bytes`.
    """
    most = bounds.conversation_bytes
    with open_bytes(path, most_bytes=most, bound="conversation_bytes") as (file, size):
        text = file.read(size).decode("utf-8-sig", "replace").strip(" \t\r\n\x00")
    if not text:
        return {}
    try:
        found: object = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shown_path(path)} is no JSON, or not whole yet: name a whole file.") from error
    return found if isinstance(found, dict) else {}
