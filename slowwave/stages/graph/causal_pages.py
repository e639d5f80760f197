"""Pages of memories that may have led to one another: which a model is asked about, and which stand on one page.

Rules find what something may have led to and what that may have been; whether it did is the model's to say. Pure
functions.
"""

import polars as pl

from slowwave.language.lexicon import LED_TO, THEMELESS_WORDS
from slowwave.language.text import words
from slowwave.schemas.tables import OWNER

EFFECTS = ["decision", "insight", "risk"]
"""Types of memories that something led to, whatever their words are."""

NEARNESS = {"topic": 1.5, "talk": 1.5, "subject": 1.0}
"""Weight of one topic, of the same or the next conversation, and of one subject, in the units of a word's rarity."""

LEAST_SCORE = 2.5
"""Score from which a pair is worth asking about: two of the above, or one rare word."""

RARE_SHARE, RARE_LEAST, RARE_MOST = 0.1, 8, 200
"""A word ties two memories where no more than this share of all use it, but at least and at most so many."""

FEW = 50
"""Rarity is counted as if there were at least so many memories: in a new memory every word is common."""

STEM = 5
"""Letters of a word that count: dance, dancer and danced are one, at the price of a few that are not."""

_SHORTEST_WORD = 3
_KEYS = ["cell_id", *OWNER]


def possible_effects(cells: pl.DataFrame) -> pl.DataFrame:
    """The memories that something may have led to: by their type, or by a word such as because or decided."""
    said = words(pl.col("content")).list.set_intersection(sorted(LED_TO)).list.len() > 0
    return cells.filter(pl.col("cell_type").is_in(EFFECTS) | said)


def likely_causes(
    cells: pl.DataFrame, effects: pl.DataFrame, causes: pl.DataFrame, *, each: int
) -> pl.DataFrame:
    """For each effect the `each` memories that most likely led to it: `effect_id`, `cause_id`.

    `cells` has `cell_id`, the owner, `session_id`, `topic_id`, `content`, `subject`, `origin`, `valid_from`,
    `event_time`; `effects` and `causes` are some of them. Words that both use and few others do speak for a pair, one
    topic or subject, and the same or the next conversation. A cause is of the owner of its effect and not later; two
    memories of untrusted origin are no pair. Likeliest first.
    """
    terms = _terms(cells)
    of_effects = terms.join(effects.select("cell_id"), on="cell_id", how="semi").rename(
        {"cell_id": "effect_id"}
    )
    of_causes = terms.filter("is_cause").join(causes.select("cell_id"), on="cell_id", how="semi")
    scored = (
        of_effects.join(of_causes.select(*OWNER, "term", cause_id="cell_id"), on=[*OWNER, "term"])
        .filter(pl.col("effect_id") != pl.col("cause_id"))
        .group_by("effect_id", "cause_id")
        .agg(score=pl.col("weight").sort().sum())
        .filter(pl.col("score") >= LEAST_SCORE)
    )
    known = cells.select(
        "cell_id", day=pl.col("valid_from").dt.date(), is_untrusted=pl.col("origin") == "untrusted"
    )
    pairs = scored.join(known, left_on="effect_id", right_on="cell_id").join(
        known, left_on="cause_id", right_on="cell_id", suffix="_of_cause"
    )
    order = ["effect_id", "score", "day_of_cause", "cause_id"]
    return (
        pairs.filter(
            pl.col("day_of_cause") <= pl.col("day"),
            ~(pl.col("is_untrusted") & pl.col("is_untrusted_of_cause")),
        )
        .sort(order, descending=[False, True, True, False])
        .group_by("effect_id", maintain_order=True)
        .head(each)
        .select("effect_id", "cause_id")
    )


def _terms(cells: pl.DataFrame) -> pl.DataFrame:
    """The ties of memories: `cell_id`, the owner, `term`, `weight`, `is_cause` (false where only an effect has it)."""
    talks = cells.with_columns(
        talk=pl.col("event_time").min().over(*OWNER, "session_id").rank("dense").over(OWNER).cast(pl.Int64)
    )
    parts = [
        _rare_words(cells),
        _near(cells, "topic", pl.col("topic_id")),
        _near(cells, "subject", pl.col("subject").str.to_lowercase()),
        _near(talks, "talk", pl.col("talk")),
        _near(talks, "talk", pl.col("talk") - 1).with_columns(is_cause=pl.lit(value=False)),
    ]
    return pl.concat(parts)


def _near(cells: pl.DataFrame, kind: str, value: pl.Expr) -> pl.DataFrame:
    term, weight = pl.format(f"{kind}: {{}}", value), pl.lit(NEARNESS[kind])
    return cells.select(*_KEYS, term=term, weight=weight, is_cause=pl.lit(value=True)).drop_nulls("term")


def _rare_words(cells: pl.DataFrame) -> pl.DataFrame:
    """Words that few memories share; the weight is ln(memories / users)."""
    is_telling = ~pl.element().is_in(sorted(THEMELESS_WORDS)) & (
        pl.element().str.len_chars() >= _SHORTEST_WORD
    )
    said = (
        words(pl.col("content")).list.eval(pl.element().filter(is_telling).str.slice(0, STEM)).list.unique()
    )
    most = min(max(cells.height * RARE_SHARE, RARE_LEAST), RARE_MOST)
    used = cells.select(*_KEYS, term=said).explode("term").drop_nulls("term")
    counted = used.with_columns(users=pl.len().over(*OWNER, "term")).filter(
        pl.col("users").is_between(2, most)
    )
    weight = (max(cells.height, FEW) / pl.col("users")).log()
    return counted.select(*_KEYS, "term", weight=weight, is_cause=pl.lit(value=True))


def pack(groups: list[list[str]], *, size: int) -> list[list[str]]:
    """Pages of at most `size` memories from groups, each whole on the page with which it shares most.

    A group longer than a page loses its last memories.
    """
    pages: list[list[str]] = []
    for group in (group[:size] for group in groups):
        fitting = [page for page in pages if len({*page, *group}) <= size]
        if not fitting:
            pages.append([])
        page = max(fitting or pages[-1:], key=lambda page: len({*page} & {*group}))
        page += [cell for cell in group if cell not in page]
    return pages
