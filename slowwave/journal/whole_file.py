"""Writing a file whole: a reader finds the old one or the new one, and a kill leaves no half of either."""

import os
import threading
from itertools import takewhile
from pathlib import Path

DRAFTS = ".*.draft"
"""Names of the files that killed writers leave behind."""


def write_whole(path: Path, data: bytes | str, *, mode: int = 0o666, is_durable: bool = True) -> None:
    """Replaces a file by way of a draft beside it, and makes its folders, for this user alone.

    When this returns the file survives a power cut too, unless `is_durable` is False, which is faster.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    new_folders = list(takewhile(lambda folder: not folder.exists(), path.parents))
    for folder in reversed(new_folders):
        folder.mkdir(mode=0o700, exist_ok=True)
    # several threads and processes may write the same file
    draft = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.draft")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    for folder in {path.parent, *(folder.parent for folder in new_folders)} if is_durable else ():
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_drafts(path: Path) -> None:
    """Removes what killed writers of this file left beside it."""
    for draft in path.parent.glob(f".{path.name}.*.draft"):
        draft.unlink(missing_ok=True)
