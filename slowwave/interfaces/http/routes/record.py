"""The way in: messages as they are said, and files of this machine."""

from pathlib import Path

from fastapi import APIRouter

from slowwave.errors import InputError, NotFoundError
from slowwave.interfaces.http.accept import Rendered
from slowwave.interfaces.http.bodies import IngestBody
from slowwave.interfaces.http.lanes import Ask, fields
from slowwave.schemas.report import StageReport
from slowwave.schemas.requests import RecordRequest
from slowwave.schemas.results import Recorded

router = APIRouter(prefix="/v1", tags=["record"], route_class=Rendered)


@router.post("/turns")
async def turns(asked: RecordRequest, ask: Ask) -> Recorded:
    """Record one message or a batch. It is durable when this answers; a message said again adds nothing.

    Another text under a known id takes the place of the first, as where a message was recorded while it was written.
    """
    return await ask.write(ask.memory.record, **fields(asked))


@router.post("/ingest")
async def ingest(asked: IngestBody, ask: Ask) -> StageReport:
    """Take in transcripts and documents of this machine; of files that grew, what is new in them.

    Paths are absolute. Whoever has the key has the rights of this server's user, so any file that this user can read
    may be named, but for those of the home itself.
    """
    sources = await ask.read(usable_sources, asked.sources, ask.home)
    return await ask.write(ask.memory.ingest, sources, dry_run=asked.dry_run)


def usable_sources(sources: tuple[str, ...], home: Path) -> list[str]:
    """The paths, each of which is an absolute one of a file or folder outside the home.

    Raises:
        InputError: one is relative, a device or pipe, or lies in the home.
        NotFoundError: one does not exist.
    """
    found = []
    for source in sources:
        if not Path(source).is_absolute():
            raise InputError("a source is a relative path: give absolute ones, the server has its own folder")
        try:
            path = Path(source).resolve()
            is_there, is_usable = path.exists(), path.is_file() or path.is_dir()
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError("a source is no path of this machine") from error
        if not is_there:
            raise NotFoundError("a source does not exist: look at its path")
        if not is_usable:
            raise InputError("a source is neither a file nor a folder")
        if path.is_relative_to(home) or home.is_relative_to(path):
            raise InputError("a source is the home itself, or lies in it or around it: name your own files")
        found.append(str(path))
    return found
