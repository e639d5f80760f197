"""`export`: everything that the asker may see, into a folder, in one of three forms. Nothing of the home changes."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from slowwave.errors import NotFoundError
from slowwave.export.folder import refuse_foreign, write_files
from slowwave.export.graph import FILE as GRAPH_FILE
from slowwave.export.graph import graph_lines
from slowwave.export.jsonl import FILE as JSONL_FILE
from slowwave.export.jsonl import jsonl_lines
from slowwave.export.rows import Rows, rows_of_export
from slowwave.export.safe_rows import without_secrets
from slowwave.export.vault import vault_files
from slowwave.home.swept import needs_sweep
from slowwave.recall.reader import NO_STORE, Reader
from slowwave.schemas.report import Exported
from slowwave.schemas.requests import ExportRequest

SECRETS = "secrets were taken out of it: `slowwave run redact` takes them out of the home as well"


def export(reader: Reader, request: ExportRequest, *, now: datetime) -> Exported:
    """Write an export, as `Memory.export` says."""
    home, store = reader.home, reader.current()
    folder = Path(request.to).expanduser()
    refuse_foreign(folder, home.root)
    if store is None:
        none = "there is no memory yet: run `slowwave ingest PATH` and `slowwave run nightly`"
        raise NotFoundError(NO_STORE if home.journal.segment_ids() else none)
    owner = home.settings.owner
    project = None if request.project is None else reader.named(request.project)
    rows = rows_of_export(store, owner, project=project, scopes=request.scopes)
    if project is not None and all(frame.is_empty() for frame in rows.values()):
        raise NotFoundError(
            f"nothing that you may see is of the project {project!r}: export all projects, or another"
        )
    notes: list[str] = []
    if needs_sweep(home):
        rows, secret_count = without_secrets(rows)
        notes += [f"{secret_count} {SECRETS}"] if secret_count else []
    texts = _texts(request, rows, now=now)
    names = sorted(texts)
    if not request.dry_run:
        write_files(folder, texts)
    return Exported(
        format=request.format,
        folder=str(folder),
        dry_run=request.dry_run,
        files=names,
        counts={kind: frame.height for kind, frame in rows.items() if frame.height},
        notes=notes,
    )


def _texts(request: ExportRequest, rows: Rows, *, now: datetime) -> Mapping[str, Iterable[str]]:
    match request.format:
        case "jsonl":
            lines = jsonl_lines(rows, version=version("slowwave"), now=now)
            return {JSONL_FILE: lines}
        case "vault":
            return vault_files(rows)
        case "mcp-graph":
            return {GRAPH_FILE: graph_lines(rows)}
