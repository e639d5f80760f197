"""`MEMORY.md`: core memory as a file, written from the store's lines whenever they are not what it says."""

import polars as pl

from slowwave.home.paths import Home
from slowwave.home.persons_words import persons_words
from slowwave.prompting.page_lines import page_line
from slowwave.schemas.moments import days_of
from slowwave.schemas.tables import OWNER, REMEMBERED
from slowwave.settings.groups import ScopeSettings
from slowwave.store import Store, owned_in
from slowwave.whole_file import write_whole

LINE_CHARACTERS = 200
LINES = ["cell_id", *OWNER, "line_rank", "line"]


def write_core_file(home: Home, store: Store) -> bool:
    """Writes `MEMORY.md`, the core memory of the home's own project, anew where it is not what the store holds.

    Returns whether it did.

    A line that rests on no person's word is not written, whoever chose it: it stands in every prompt. A home that
    never had core memory gets no file.
    """
    lines = _lines(store, home.settings.owner, home.settings.owner.project_id)
    text = "\n".join(["# Core memory", "", *lines, ""])
    # a person's editor may have left anything there
    before = home.core_path.read_bytes().decode(errors="replace") if home.core_path.exists() else ""
    if text == before or not (before or len(lines)):
        return False
    write_whole(home.core_path, text)
    return True


def project_core(home: Home, store: Store, project: str) -> str:
    """The core memory of a project beside the home's own, with a heading; empty where it has none."""
    owner = home.settings.owner
    if project == owner.project_id or owner.project_from == "setting":
        return ""
    lines = _lines(store, owner, project)
    return "\n".join([f"## Project {page_line(project)}", "", *lines, ""]) if lines else ""


def _lines(store: Store, owner: ScopeSettings, project: str) -> list[str]:
    """The lines of a project as a page has them, in their order: those alone that a person's word stands behind."""
    core = store.rows("core", ["line_rank", "cell_id", "line"], owned_in(owner, project))
    allowed = persons_words(store, core["cell_id"])
    lines = core.join(allowed, on="cell_id", how="semi").sort("line_rank", "cell_id")["line"]
    return [f"- {page_line(line)}" for line in lines]


def core_lines(chosen: pl.DataFrame) -> pl.DataFrame:
    """Lines of core memory from the chosen cells (best first, `line_rank` null for newcomers).

    A line that stays keeps its place among those that stay. A newcomer stands behind the line that comes before it
    in the choice, or at the top. `chosen` has `protected` and `source_id`, by which a line says whose word it is.
    Returns the owner, `cell_id`, `line_rank` (1-based), `line`.
    """
    text = pl.coalesce("summary", "content").str.replace_all(r"\s+", " ").str.strip_chars()
    cut = text.str.slice(0, LINE_CHARACTERS - 1) + "…"
    short = pl.when(text.str.len_chars() > LINE_CHARACTERS).then(cut).otherwise(text)
    named = pl.format("{} {}: ", "subject", pl.col("attribute").fill_null(""))
    is_named = pl.col("summary").is_not_null() & pl.col("subject").is_not_null()
    subject = pl.when(is_named).then(named).otherwise(pl.lit(""))
    date = days_of(pl.col("valid_from"))
    return (
        chosen.with_row_index("choice")
        .with_columns(place=pl.col("line_rank").forward_fill().fill_null(0))
        .sort("place", pl.col("line_rank").is_null(), "choice")
        .with_columns(
            line=pl.format("[{}] {}{} ({}, {})", "cell_type", subject, short, _whose(), date),
            line_rank=pl.int_range(1, pl.len() + 1),
        )
        .select(LINES)
    )


def _whose() -> pl.Expr:
    """The person whose word a line is. Names of speakers are no part of it: they are text of a transcript too."""
    return (
        pl.when("protected")
        .then(pl.lit("confirmed by you"))
        .when(pl.col("source_id") == REMEMBERED)
        .then(pl.lit("said by you"))
        .otherwise(pl.lit("said by a person"))
    )
