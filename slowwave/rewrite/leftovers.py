"""Files beside journal and store that quote what goes: caches, spools, logs, core memory, drafts of killed writers.

Prefect's database is none of ours: reports in it hold numbers alone, and the byte scan names it if a text stands there.
"""

import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import polars as pl

from slowwave.home.core_memory import write_core
from slowwave.home.paths import Home
from slowwave.home.usage import RECORDED, collect_spools
from slowwave.home.workspace import Workspace
from slowwave.journal.catalogue import encode
from slowwave.recall.shown import FOLDER as SHOWN_FOLDER
from slowwave.rewrite.byte_scan import files_with
from slowwave.whole_file import DRAFTS


def take_spool(work: Workspace, cell_ids: Collection[str]) -> None:
    """Bring the record of use into the journal, without what goes: the spool is empty afterwards."""
    spooled = collect_spools(work.home)
    kept = spooled.usage.filter(~pl.col("cell_id").is_in(list(cell_ids)))
    if kept.height:
        work.home.journal.commit(encode(RECORDED, kept), now=work.clock())
    spooled.discard()


def clean(
    work: Workspace, ids: Sequence[str], texts: Sequence[str], masked: Callable[[str], str]
) -> dict[str, int]:
    """Remove what quotes the texts or names the ids, mask logs line by line, and write core memory anew.

    Returns how many of each. The answer cache goes whole: its rows are compressed questions and answers of all kinds.
    """
    home = work.home
    return {
        "answers": _remove(sorted(home.cache_path.parent.glob(f"{home.cache_path.name}*"))),
        "shown": _remove(_naming(home.root / SHOWN_FOLDER, ids)),
        "openings kept for a server that sleeps": _remove(
            sorted((home.root / "cache" / "opening").glob("*"))
        ),
        "texts in an editor": _remove(_quoting(home.root / "editing", texts)),
        "core file": int(write_core(work)),
        "run reports": _remove(_quoting(home.root / "server" / "runs", texts)),
        "drafts": _remove(_quoting(home.root, texts, named=DRAFTS)),
        "log lines": sum(_mask_log(path, masked) for path in logs_of(home)),
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


def _naming(folder: Path, ids: Sequence[str]) -> list[Path]:
    """Files of conversations that were shown one of these memories."""
    wanted = set(ids)
    return [path for path in sorted(folder.glob("*")) if wanted & set(_shown(path))]


def _shown(path: Path) -> list[str]:
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["shown"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _quoting(folder: Path, texts: Sequence[str], *, named: str = "*") -> list[Path]:
    """Files below a folder that quote what goes."""
    return [folder / name for name in files_with(folder, texts, named=named)] if folder.is_dir() else []


def _remove(paths: Sequence[Path]) -> int:
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)
