"""The difference as Markdown: bounded for a report, whole for the file beside the derivation."""

from collections.abc import Sequence

from slowwave.schemas.derivation import CarriedEdit, ChangedMemory, Derivation, DerivationDiff, Estimate
from slowwave.schemas.report import several
from slowwave.stages.night.report import plain, spent

SHOWN_LINES = 20
"""Memories of each kind that a report shows; the file beside the derivation has all."""

TITLES = {
    "changed": "Changed: the same memory with another value",
    "gained": "Gained: no memory said this before",
    "lost": "Lost: no memory says this any more",
    "reworded": "In other words",
}


def headline(found: Derivation) -> str:
    """One line on a derivation and what was done to it."""
    done = {
        "derive": "is whole" if found.is_whole else "goes on",
        "show": "beside the living memory",
        "switch": "took the place of the living memory",
        "drop": "was dropped",
    }
    if found.dry_run or found.derivation_id is None:
        return "rederive: nothing was changed"
    return f"derivation {found.derivation_id[-6:].lower()}: {done[found.action]}"


def markdown(found: Derivation, *, most: int | None = None) -> str:
    """A derivation as a page; at most so many memories of each kind, where `most` is given."""
    lines = [f"# {headline(found)}", "", *(f"- {plain(note)}" for note in found.notes), ""]
    if found.estimate is not None:
        lines += [estimate_line(found.estimate), ""]
    if found.night is not None:
        lines += [f"Spent: {spent(found.night.ledger)}.", ""]
    if found.diff is not None:
        lines += [*_diff_lines(found.diff, most), ""]
        if most is not None and found.file is not None:
            lines += [f"The whole difference: {plain(found.file)}", ""]
    return "\n".join(lines).rstrip() + "\n"


def estimate_line(waits: Estimate) -> str:
    """One sentence on the work that waits and its cost."""
    if not waits.pages:
        return "No page waits."
    likely = f", about {waits.likely_tokens:,} as the nights so far went" if waits.likely_tokens else ""
    return (
        f"{several(waits.turns, 'turn')} are not in a page yet; {several(waits.pages, 'page')} to read: at least "
        f"{waits.least_tokens:,} tokens to extract them{likely}."
    )


def counts_line(diff: DerivationDiff) -> str:
    """One sentence with all counts."""
    told = ", ".join(f"{count} {name}" for name, count in diff.counts.items())
    return f"Memories: {told}. Topics: {diff.topics[0]} before, {diff.topics[1]} after."


def memory_line(one: ChangedMemory) -> tuple[str, str]:
    """A memory before and after; one of them is empty for what was gained or lost."""
    why = f" ({one.why})" if one.why else ""
    return one.before or "", f"{one.after or ''}{why}" if one.after else ""


def edit_line(one: CarriedEdit) -> str:
    """A person's edit and how it stands."""
    return f"{one.edit}: {one.said} -> {one.how}"


def shown(rows: Sequence[ChangedMemory], most: int | None) -> tuple[Sequence[ChangedMemory], int]:
    """The first rows, and how many are left out."""
    cut = rows if most is None else rows[:most]
    return cut, len(rows) - len(cut)


def _diff_lines(diff: DerivationDiff, most: int | None) -> list[str]:
    lines = [counts_line(diff), "", "| type | before | after |", "|---|---:|---:|"]
    lines += [f"| {name} | {before} | {after} |" for name, (before, after) in diff.by_type.items()]
    for name, names in (("Topics gained", diff.gained_topics), ("Topics lost", diff.lost_topics)):
        cut = names if most is None else names[:most]
        more = f" and {len(names) - len(cut)} more" if len(cut) < len(names) else ""
        lines += ["", f"{name}: {plain('; '.join(cut))}{more}."] if cut else []
    if diff.edits:
        edits = diff.edits if most is None else diff.edits[:most]
        lines += ["", "## What a person said and did", "", *(f"- {plain(edit_line(one))}" for one in edits)]
        lines += [f"- and {len(diff.edits) - len(edits)} more"] if len(edits) < len(diff.edits) else []
    for name, title in TITLES.items():
        rows, more_count = shown([one for one in diff.memories if one.difference == name], most)
        if not rows:
            continue
        lines += ["", f"## {title} ({len(rows) + more_count})", ""]
        for one in rows:
            before, after = memory_line(one)
            both = f"{plain(before)} **now** {plain(after)}" if before and after else plain(before or after)
            lines.append(f"- [{one.cell_type}] {both}")
        lines += [f"- and {more_count} more"] if more_count else []
    return lines
