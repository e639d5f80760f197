"""The row that describes a format: how its files are recognised, where they are found, and who reads them."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from slowwave.ingest.fields import Fields
from slowwave.ingest.files import Input
from slowwave.ingest.turns import RawMessage
from slowwave.schemas.choices import SourceType


@dataclass(frozen=True)
class Place:
    """A folder in which an agent keeps files.

    `roots` are its paths below the user's folder, or below that of a variable (`$NAME/...`) where it is set; `globs`
    are the paths of files from there.
    """

    source: str
    roots: tuple[str, ...]
    globs: tuple[str, ...]


@dataclass(frozen=True)
class Format:
    """A form of files.

    A file has the first form whose `is_path` accepts its absolute path; else the one whose `start` matches the
    shortest beginning of it; else the one whose `is_record` accepts the first of its JSON lines that any form accepts.
    """

    name: str
    title: str
    """The form in a message about a file of none; empty where another row of the same name says it."""
    messages: Callable[[Input], Iterator[RawMessage]] | None
    """Null for a form that holds memories, not conversations."""
    is_path: Callable[[Path], bool] | None = None
    start: re.Pattern[bytes] | None = None
    suffix: str = ""
    """The ending of files in which `start` counts; empty for any."""
    is_record: Callable[[Fields], bool] | None = None
    in_folders: str = ""
    """A pattern of the paths, in lower case, that are read from a folder; a file that is named may have others."""
    places: tuple[Place, ...] = ()
    source_type: SourceType = "conversation"
