"""What looks like a secret and must stay: lines from real files and made ones, drawn by a seed."""

from collections.abc import Callable
from pathlib import Path
from random import Random

from benchmarks.made_secrets import real_lines
from benchmarks.made_secrets.filling import fill, sections
from benchmarks.made_secrets.real_lines import Excerpt, excerpts

FOLDER = Path(__file__).parent / "lookalikes"
COUNT = 1000
SHARES: dict[Callable[[Random, int], list[Excerpt]], float] = {
    real_lines.lock_file: 0.10,
    real_lines.git_objects: 0.11,
    real_lines.own_files: 0.20,
    real_lines.package_files: 0.27,
    real_lines.record_files: 0.06,
    real_lines.transcripts: 0.10,
}
"""Of how many, by source; the rest is made."""


def look_alikes(dice: Random, count: int = COUNT, written: str = "") -> list[Excerpt]:
    """As many excerpts as asked for: real ones, lines of `written` (what a night wrote), and made ones for the rest."""
    found = [one for source, share in SHARES.items() for one in source(dice, int(count * share))]
    found += excerpts(written, "night", dice, most=count // 20)
    while len(found) < count:
        found += made(dice)
    return found[:count]


def made(dice: Random) -> list[Excerpt]:
    """One made look-alike of each kind, in a drawn order."""
    kinds = list(sections(FOLDER).items())
    dice.shuffle(kinds)
    return [Excerpt(f"made {kind}", fill(kind, text, dice).text) for kind, text in kinds]
