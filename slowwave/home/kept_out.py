"""Keep out what a person erased, by digests under a secret of the home.

An id or a hash of an erased text would prove a guess of it to whoever has a copy of the journal. So the events of an
erase hold digests in their place, made with a secret that lies beside the journal. Without that file (lost, or not in a
backup) nothing is kept out any more.
"""

import shutil
from collections.abc import Iterable
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
    try:
        key = (root / KEY_FILE).read_bytes()
    except FileNotFoundError:
        return []
    return [blake2b(text.encode(), key=key, digest_size=ID_LENGTH // 2).hexdigest() for text in texts]


def without_erased_turns(root: Path, store: StoreReader, turns: pl.DataFrame) -> pl.DataFrame:
    """Turns without those that were erased: by their id, or by the text within their source, wherever it is by now."""
    columns = ["turn_id", "source_id", "content_hash"]
    keyed = _keyed(root, turns, "turn_id", "content_hash")
    if keyed is None:
        return turns
    sources = keyed["source_id"].unique().to_list()
    gone = pl.concat(
        [
            store.having("erasures", "turn_id", keyed["turn_id_digest"], columns),
            store.rows("erasures", columns, col("source_id").isin(sources)),
        ]
    )
    kept = keyed.join(gone, left_on="turn_id_digest", right_on="turn_id", how="anti", maintain_order="left")
    by_text = ["source_id", "content_hash_digest"]
    kept = kept.join(gone, left_on=by_text, right_on=columns[1:], how="anti", maintain_order="left")
    return kept.select(turns.columns)


def without_erased_cells(root: Path, store: StoreReader, cells: pl.DataFrame) -> pl.DataFrame:
    """Memories without those of which a person erased the very text, or the id."""
    keyed = _keyed(root, cells, "cell_id", "content_hash")
    if keyed is None:
        return cells
    dead = store.rows("tombstones", ["cell_id", *OWNER, "content_hash"])
    by_text = [*OWNER, "content_hash"]
    kept = keyed.join(dead, left_on="cell_id_digest", right_on="cell_id", how="anti", maintain_order="left")
    digested = [*OWNER, "content_hash_digest"]
    kept = kept.join(dead, left_on=digested, right_on=by_text, how="anti", maintain_order="left")
    return kept.select(cells.columns)


def _keyed(root: Path, rows: pl.DataFrame, *columns: str) -> pl.DataFrame | None:
    """The rows with a digest of each column; None where there is nothing to compare."""
    made = {name: digests(root, rows[name]) for name in columns}
    if rows.is_empty() or not all(made.values()):
        return None
    return rows.with_columns(pl.Series(f"{name}_digest", values) for name, values in made.items())
