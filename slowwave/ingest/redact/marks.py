"""The marks that stand where secrets were, and two texts compared but for them.

Pure: where a text is known before and after redaction, what was taken is what stands between its unchanged pieces.
"""

from slowwave.ingest.redact.spans import find
from slowwave.ingest.redact.table import in_force
from slowwave.ingest.redact.views import MARK

LEAST_LITERAL = 12
"""Characters beside the marks from which a text can be recognised by them."""


def mark_of(kind: str) -> str:
    """The mark of a kind of secret."""
    return f"[redacted:{kind}]"


def kind_of(mark: str) -> str:
    """The kind of secret that a mark stands for."""
    return mark[len("[redacted:") : -1]


def gaps(before: str, after: str) -> list[tuple[int, int, str]] | None:
    """Begin and end in `before`, and the mark in `after`, of everything that a mark stands for.

    A mark that stood in `before` already stands for itself. None where the texts differ in more than marks.
    """
    marks = list(MARK.finditer(after))
    if not marks:
        return [] if before == after else None
    borders = [0, *(border for mark in marks for border in mark.span()), len(after)]
    pieces = [after[borders[index] : borders[index + 1]] for index in range(0, len(borders), 2)]
    if not before.startswith(pieces[0]):
        return None
    found: list[tuple[int, int, str]] = []
    position = len(pieces[0])
    last = len(before) - len(pieces[-1])
    for mark, piece in zip(marks, pieces[1:], strict=True):
        is_last = mark is marks[-1]
        # the earliest place leaves the most room for the pieces that follow
        end = last if is_last else before.find(piece, position + 1)
        if end <= position or not before.startswith(piece, end):
            return None
        found.append((position, end, mark[0]))
        position = end + len(piece)
    return found


def taken(before: str, after: str) -> dict[str, str]:
    """The secrets that redaction took out of a text, each with its kind."""
    return {
        secret: kind_of(mark)
        for begin, end, mark in gaps(before, after) or ()
        if not MARK.fullmatch(secret := before[begin:end])
    }


def secrets_in(text: str) -> dict[str, str]:
    """The secrets that the rules find in a text, each with its kind."""
    return {text[span.start : span.end]: span.kind for span in find(text, in_force())}


def is_redacted_form(stored: str, read: str, *, least: int = LEAST_LITERAL) -> bool:
    """Return whether a stored text is one that was read, with marks where the other has what was taken out.

    A text of fewer than `least` characters beside its marks is not recognised.
    """
    if len(MARK.sub("", stored).strip()) < least:
        return False
    return bool(gaps(read, stored))
