"""Keep out what a person erased, by digests under a secret of the home.

An id or a hash of an erased text would prove a guess of it to whoever has a copy of the journal. So the events of an
erase hold digests in their place, made with a secret that lies beside the journal. Without that file (lost, or not in a
backup) nothing is kept out any more.
"""

import shutil
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from secrets import token_bytes

import polars as pl

from slowwave.home.paths import Home
from slowwave.schemas.identity import ID_LENGTH
from slowwave.schemas.tables import OWNER
from slowwave.store import StoreReader, col
from slowwave.whole_file import PRIVATE, write_whole

KEY_FILE = "erased.key"

DIGEST = "_digest"
"""Ending of a column with the digests of another."""


def make_secret(home: Home) -> None:
    """Make the secret of a home with its first erase."""
    if not (path := home.root / KEY_FILE).exists():
        write_whole(path, token_bytes(32), mode=PRIVATE)


def share_secret(living: Home, side: Home) -> None:
    """Give a derivation the secret of its memory, whose erasures it takes over."""
    if (path := living.root / KEY_FILE).exists():
        side.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy(path, side.root / KEY_FILE)


def digests(root: Path, texts: Iterable[str]) -> list[str]:
    """The digests of ids or hashes in the home at `root`; empty where nothing was ever erased."""
    key = _secret(root)
    return [] if key is None else [_digest(key, text) for text in texts]


def without_erased_turns(root: Path, store: StoreReader, turns: pl.DataFrame) -> pl.DataFrame:
    """Turns without those that were erased: by their id, or by the text within their source, wherever it is by now."""
    keyed = _keyed(root, turns, "turn_id")
    if keyed is None:
        return turns
    columns = ["turn_id", "source_id", "content_hash"]
    sources = keyed["source_id"].unique().to_list()
    gone = pl.concat(
        [
            store.having("erasures", "turn_id", keyed["turn_id_digest"], columns),
            store.rows("erasures", columns, col("source_id").isin(sources)),
        ]
    )
    return _without(keyed, gone, "turn_id", within=["source_id"], suffix=DIGEST).select(turns.columns)


def without_deleted_cells(root: Path, store: StoreReader, cells: pl.DataFrame) -> pl.DataFrame:
    """Memories without those of which a person deleted, or erased, the very text or the id."""
    dead = store.rows("tombstones", ["cell_id", *OWNER, "content_hash"])
    kept = _without(cells, dead, "cell_id", within=OWNER)
    keyed = _keyed(root, kept, "cell_id")
    if keyed is None:
        return kept
    return _without(keyed, dead, "cell_id", within=OWNER, suffix=DIGEST).select(cells.columns)


def _without(
    rows: pl.DataFrame, gone: pl.DataFrame, key: str, *, within: Sequence[str], suffix: str = ""
) -> pl.DataFrame:
    """Rows whose id is not gone, nor their text `within` the same source or owner.

    With a suffix the digests of the rows, in columns of that ending, are compared with what is gone.
    """
    for names in ([key], [*within, "content_hash"]):
        here = [*names[:-1], f"{names[-1]}{suffix}"]
        rows = rows.join(gone, left_on=here, right_on=names, how="anti", maintain_order="left")
    return rows


def _keyed(root: Path, rows: pl.DataFrame, key: str) -> pl.DataFrame | None:
    """The rows with digests of their id and the hash of their text; None where there is nothing to compare."""
    secret = None if rows.is_empty() else _secret(root)
    if secret is None:
        return None
    return rows.with_columns(
        pl.Series(f"{name}{DIGEST}", [_digest(secret, text) for text in rows[name]])
        for name in (key, "content_hash")
    )


def _secret(root: Path) -> bytes | None:
    try:
        return (root / KEY_FILE).read_bytes()
    except FileNotFoundError:
        return None


def _digest(secret: bytes, text: str) -> str:
    return blake2b(text.encode(), key=secret, digest_size=ID_LENGTH // 2).hexdigest()
