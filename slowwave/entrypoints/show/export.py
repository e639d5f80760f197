"""An export, for a terminal."""

from slowwave.entrypoints.show.terminal import flat, tell, tell_notes
from slowwave.schemas.report import Exported, several_memories


def show_exported(done: Exported) -> None:
    """Say what was written where, and how to take it in again."""
    verb = "Would write" if done.dry_run else "Wrote"
    tell(f"{verb} {several_memories(done.counts.get('memory', 0))} to {flat(done.folder)}")
    for name in done.files:
        tell(f"  {flat(name)}")
    if done.format == "jsonl":
        rows = ", ".join(f"{kind.replace('_', ' ')} {number}" for kind, number in sorted(done.counts.items()))
        tell(f"  rows: {rows}")
        tell(f"Take it in elsewhere: slowwave ingest {flat(done.folder)}/{flat(done.files[0])}")
    tell_notes(done.notes)
