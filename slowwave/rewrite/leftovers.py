"""Files next to journal and store that quote what goes: caches, logs, core memory, drafts of killed writers.

Prefect's database is not ours: reports in it hold numbers alone, and the byte scan names it if a text is in it.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from slowwave.home.core_memory import write_core
from slowwave.home.paths import Home
from slowwave.home.workspace import Workspace
from slowwave.recall.shown import FOLDER as SHOWN_FOLDER
from slowwave.rewrite.byte_scan import files_with
from slowwave.whole_file import DRAFTS


def clean(work: Workspace, texts: Sequence[str], masked: Callable[[str], str]) -> dict[str, int]:
    """Empty the caches, remove what quotes the texts, mask logs line by line, and write core memory anew.

    Returns how many of each. Caches go whole: the rows of the answer cache are compressed questions and answers of all
    kinds, and what conversations were shown is kept by ids that are made from texts.
    """
    root, cache = work.home.root, work.home.cache_path
    return {
        "answers": _remove(cache.parent.glob(f"{cache.name}*")),
        "shown": _remove((root / SHOWN_FOLDER).glob("*")),
        "openings kept for a server that sleeps": _remove((root / "cache" / "opening").glob("*")),
        "texts in an editor": _remove_quoting(root / "editing", texts),
        "core file": int(write_core(work)),
        "run reports": _remove_quoting(root / "server" / "runs", texts),
        "drafts": _remove_quoting(root, texts, named=DRAFTS),
        "log lines": sum(_mask_log(path, masked) for path in logs_of(work.home)),
    }


def logs_of(home: Home) -> list[Path]:
    """The log files below a home, but for what lies in its store."""
    found = (path for path in home.root.rglob("*.log*") if path.is_file())
    return sorted(path for path in found if path.relative_to(home.root).parts[0] != "store")


def _mask_log(path: Path, masked: Callable[[str], str]) -> int:
    """Mask the lines of a log in place: the server that writes it holds the file open. Returns how many changed."""
    with path.open("r+b") as file:
        lines = file.read().decode("utf-8", "surrogateescape").split("\n")
        safe = [masked(line) for line in lines]
        changed = sum(after != before for after, before in zip(safe, lines, strict=True))
        if changed:
            file.seek(0)
            file.write("\n".join(safe).encode("utf-8", "surrogateescape"))
            file.truncate()
    return changed


def _remove_quoting(folder: Path, texts: Sequence[str], *, named: str = "*") -> int:
    """Remove the files below a folder that quote a text."""
    return _remove(folder / name for name in files_with(folder, texts, named=named))


def _remove(paths: Iterable[Path]) -> int:
    """Remove files, and return how many there were."""
    found = list(paths)
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)
