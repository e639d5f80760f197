"""`MEMORY.md`: core memory as a file, written from the store's lines whenever they are not what it says."""

from slowwave.home import Home
from slowwave.store import Store, owned_by


def write_core_file(home: Home, store: Store) -> bool:
    """Writes `MEMORY.md` anew where it is not what the store holds; returns whether it did.

    A home that never had core memory gets no file.
    """
    own = home.settings.own
    mine = owned_by(own.user_id, own.project_id)
    lines = store.rows("core", ["line_rank", "cell_id", "line"], mine).sort("line_rank", "cell_id")["line"]
    text = "\n".join(["# Core memory", "", *(f"- {line}" for line in lines), ""])
    before = home.core_path.read_text(encoding="utf-8") if home.core_path.exists() else ""
    if text == before or not (before or len(lines)):
        return False
    home.write_core(text)
    return True
