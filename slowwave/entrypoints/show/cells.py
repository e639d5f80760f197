"""A page of memories, for a terminal."""

from slowwave.entrypoints.show.terminal import flat, results, table, tell
from slowwave.schemas.lists import CellPage

SHOWN = 240


def show_cells(
    found: CellPage, *, has_status: bool, entity: str | None = None, project: str | None = None
) -> None:
    """One row a memory, newest first, and how to see the next page.

    `entity` and `project` are what was asked for: where nothing is known of it, that is said.
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
    has_projects = len({cell.project_id for cell in found.cells}) > 1
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
        text = flat(cell.content)
        row = [f"{cell.event_time:%Y-%m-%d}", cell.cell_type]
        row += [cell.status] if has_status else []
        row += [text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"]
        row += [flat(cell.project_id)] if has_projects else []
        made.add_row(*row, cell.cell_id[:12])
    results().print(made)
    if project is not None and not found.notes and project not in {cell.project_id for cell in found.cells}:
        tell(
            f"None of these is of the project {flat(project)!r}: they are of the home's own, known in every project."
        )
    tell(f"{len(found.cells)} of {found.total:,}." + _more(found))


def _more(found: CellPage) -> str:
    return f" The next page: --cursor {found.next_cursor}" if found.next_cursor else ""
