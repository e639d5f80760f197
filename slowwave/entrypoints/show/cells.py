"""A page of memories, for a terminal."""

from textwrap import shorten

from slowwave.entrypoints.show.terminal import flat, results, table, tell
from slowwave.schemas.lists import CellPage
from slowwave.schemas.moments import day_of

SHOWN = 240


def show_cells(
    found: CellPage, *, has_status: bool, entity: str | None = None, has_projects: bool = False
) -> None:
    """One row a memory, newest first, and how to see the next page.

    `entity` is what was asked for: where nothing is known of it, that is said. The projects of memories of several are
    shown, and with `has_projects` also that of memories of one.
    """
    for note in found.notes:
        tell(note)
    if not found.cells:
        tell(
            "No memory is on this page."
            if found.total
            else f"No memory to list: none names {flat(entity)!r}, or none of these passes the other filters."
            if entity
            else "No memory to list: nothing is remembered yet, or nothing passes the filters."
        )
        return
    has_projects |= len({cell.project_id for cell in found.cells}) > 1
    names = [
        "said",
        "type",
        *(["status"] if has_status else []),
        "memory",
        *(["project"] if has_projects else []),
        "id",
    ]
    made = table(*names)
    for cell in found.cells:
        row = [day_of(cell.event_time), cell.cell_type]
        row += [cell.status] if has_status else []
        row += [shorten(flat(cell.content), SHOWN, placeholder=" ...")]
        row += [flat(cell.project_id)] if has_projects else []
        made.add_row(*row, cell.cell_id[:12])
    results().print(made)
    tell(f"{len(found.cells)} of {found.total:,}." + _more(found))


def _more(found: CellPage) -> str:
    return f" The next page: --cursor {found.next_cursor}" if found.next_cursor else ""
