"""Names that come from outside without secrets: ids that others gave, and names of files and folders."""

from functools import lru_cache

from slowwave.ingest.redact import redact
from slowwave.ingest.redact.table import in_force
from slowwave.schemas.identity import stable_id


def safe_id(text: str) -> str:
    """An id as it is; one that holds a secret as a hash, so that ids that differ still do."""
    return text if marked(text, in_force().own) == text else stable_id("id", text)


def safe_path(name: str) -> str:
    """The name of a file, or a path, with marks for secrets; each part of it is looked at by itself."""
    own = in_force().own
    return "/".join(marked(part, own) for part in name.split("/"))


@lru_cache(4096)
def marked(text: str, own: str) -> str:
    """A name with marks for secrets: kept, since the same ones come again and again."""
    return redact(text)[0]
