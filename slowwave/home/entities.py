"""Entities, the people and things behind names, as a pure function of all names of a family, in any arrival order.

A family is what all names that may ever be one entity share (`slowwave/language/names.py`): a night looks at the
families of its new names and at no other. Owners never mix: every step groups by the owner. The night, an import of
another program's graph and an erase resolve names here, so that a name means the same to all three.

The rules, each with its exception:

- Case, accents, signs and blanks do not count. Kinds do: a person, a place and a thing of one name are three entities.
  A name without a type has the kind of the same name elsewhere, if there is just one.
- A full name is one person under every nickname of its first name. A first name alone is the only person whose full
  name begins with it; with two such full names, or none, it is an entity of its own.
- Versions of a tool are the tool; a legal form or a left-out trade word (Skerry, Skerry Travel) is the organization.
- A description ("Evan's wife") is the person that an identity names.
- A name of three letters or fewer, or a common word, equals itself alone.
"""

from collections.abc import Collection

import polars as pl

from slowwave.journal.catalogue import EventRows
from slowwave.language.lexicon import TRADES
from slowwave.language.names import (
    NO_SAME,
    TYPES,
    as_called,
    first_name,
    has_legal_form,
    is_ambiguous,
    is_description,
    person_name,
    plain_name,
    said_name,
    said_type,
    same_names,
    with_possessor,
    with_thing_name,
    without_version,
)
from slowwave.schemas.identity import stable_ids
from slowwave.schemas.tables import OWNER, frame_schema
from slowwave.store import StoreReader
from slowwave.trust.origins import is_anybodys

NOBODY = pl.Series("cell_id", [], dtype=pl.String)
"""No memory."""

NAMED = [*OWNER, "name", "entity_type"]
"""Columns that tell two names apart: their owner, the name as it is said, and the type that it is said with."""

_PER_FAMILY = [*OWNER, "family"]
_TRADE = rf"(?: (?:{'|'.join(TRADES)}))+$"


def resolved_names(
    store: StoreReader,
    families: Collection[str],
    *,
    named: pl.DataFrame | None = None,
    gone: pl.DataFrame | None = None,
) -> EventRows:
    """Events that make the entities of these families what all their mentions say.

    `named` are new mentions of the families, without `entity_id`; `gone` are stored ones whose memory left.
    """
    before = store.having("mentions", "family", families)
    known = store.having("entities", "family", families)
    lost = before.clear() if gone is None else gone
    kept = before.join(lost, on="mention_id", how="anti").drop("entity_id")
    mentions = kept if named is None else pl.concat([kept, named.select(kept.columns)])
    mentions = mentions.unique("mention_id", keep="first", maintain_order=True)
    origins = store.by_key("cells", mentions["cell_id"].unique(), ["cell_id", "origin"])
    same = same_names(store.rows("identities"))
    after, entities = resolve(mentions, same, of_anybody=origins.filter(is_anybodys())["cell_id"])
    left = vanished(known, before, after)
    return {
        "entity.merged": left.drop_nulls("merged_into"),
        "entity.dropped": left.filter(pl.col("merged_into").is_null()).select("entity_id"),
        "entity.resolved": entity_changes(entities, known),
        "mention.dropped": lost.select("mention_id").sort("mention_id"),
        "mention.recorded": after.join(before, on=["mention_id", "entity_id"], how="anti"),
    }


def people_and_things(cells: pl.DataFrame) -> pl.DataFrame:
    """A row for each name in a cell: `cell_id`, the owner, `event_time`, `name`, `entity_type`.

    `cells` has `cell_id`, the owner, `event_time` and `entities` (`Name (type)`, or the name alone). "His wife" is
    "Evan's wife" where Evan is the only person in the cell.
    """
    said = cells.select("cell_id", *OWNER, "event_time", said="entities").explode("said").drop_nulls("said")
    names = said.with_columns(name=said_name(pl.col("said")), entity_type=said_type(pl.col("said"))).drop(
        "said"
    )
    is_named = (pl.col("entity_type") == "person") & ~is_description(pl.col("name"))
    people = names.filter(is_named).group_by("cell_id").agg(person=pl.col("name").unique())
    alone = people.filter(pl.col("person").list.len() == 1).explode("person")
    joined = names.join(alone, on="cell_id", how="left", maintain_order="left")
    return joined.with_columns(name=with_possessor(pl.col("name"), pl.col("person"))).drop("person")


def mentions_of(cells: pl.DataFrame, same: pl.DataFrame = NO_SAME) -> pl.DataFrame:
    """A row for each name that a cell names, without its entity: the columns of `mentions` but `entity_id`.

    `cells` is as for `people_and_things`, `same` as `same_names` gives it. A name of signs alone is none. Sorted by
    `mention_id`.
    """
    said = as_called(people_and_things(cells), same).filter(
        pl.col("family").is_not_null() & (pl.col("family") != "")
    )
    identified = said.with_columns(stable_ids("mention", said.select("cell_id", "name", "entity_type")))
    names = [name for name in frame_schema("mentions").names() if name != "entity_id"]
    return identified.select(names).unique("mention_id", keep="first", maintain_order=True).sort("mention_id")


def resolve(
    mentions: pl.DataFrame, same: pl.DataFrame = NO_SAME, *, of_anybody: pl.Series = NOBODY
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The entity of every mention, and the entities: what is known of a family, all at once.

    `mentions` holds every mention of the families in question, without `entity_id`, and `same` the descriptions that
    stand for a name; what is resolved depends on the set of their rows alone. `of_anybody` are the memories that nobody
    answers for: a name that they alone say is nobody's other name, and names an entity of its own. Returns the
    mentions with `entity_id`, and per entity `entity_id`, the owner, `canonical_name`, `entity_type` (null where
    nobody says it), `aliases` (other names, sorted), `family`, `mention_count` (cells that name it); both sorted
    by their key.
    """
    mentions = as_called(mentions, same)
    names = mentions.group_by([*NAMED, "family", "called"]).agg(
        said_count=pl.col("cell_id").n_unique(), is_known=~pl.col("cell_id").is_in(of_anybody.implode()).all()
    )
    names = names.with_columns(is_known=pl.col("is_known").any().over(*OWNER, "family", "called"))
    known, other = (
        part.drop("is_known").pipe(_with_kinds).pipe(_with_keys)
        for part in (names.filter("is_known"), names.filter(~pl.col("is_known")))
    )
    keyed = pl.concat([known, other.with_columns(key=pl.format("only quoted: {}", "key"))])
    keyed = keyed.with_columns(stable_ids("entity", keyed.select(*OWNER, "kind", "key")))
    resolved = mentions.join(
        keyed.select(*NAMED, "entity_id"), on=NAMED, how="inner", nulls_equal=True, maintain_order="left"
    )
    counts = resolved.group_by("entity_id").agg(mention_count=pl.col("cell_id").n_unique().cast(pl.Int64))
    entities = _described(keyed).join(counts, on="entity_id", how="inner").sort("entity_id")
    return resolved.select(frame_schema("mentions").names()).sort("mention_id"), entities


def _with_kinds(names: pl.DataFrame) -> pl.DataFrame:
    """Names with `plain` and `kind`: person, place or thing."""
    kind = (
        pl.when(pl.col("entity_type").is_in(["person", "place"]))
        .then("entity_type")
        .when(pl.col("entity_type").is_not_null())
        .then(pl.lit("thing"))
    )
    known = names.with_columns(plain="called", said_kind=kind)
    same = pl.col("said_kind").drop_nulls().unique().over(*OWNER, "plain", mapping_strategy="join")
    is_person = (pl.col("said_kind") == "person").any().over(_PER_FAMILY)
    kinds = known.with_columns(same=same, is_first_name=~pl.col("plain").str.contains(" ") & is_person)
    return kinds.with_columns(
        kind=pl.coalesce(
            "said_kind",
            pl.when(pl.col("same").list.len() == 1).then(pl.col("same").list.first()),
            # Mara without a type, where Mara Lindqvist is a person and nothing else is called Mara
            pl.when((pl.col("same").list.len() == 0) & pl.col("is_first_name")).then(pl.lit("person")),
            pl.lit("thing"),
        )
    ).drop("same", "is_first_name", "said_kind")


def _with_keys(names: pl.DataFrame) -> pl.DataFrame:
    """Names with `key`: names of one owner, kind and key are one entity."""
    parts = [
        names.filter(pl.col("kind") == "person").pipe(_person_keys),
        names.filter(pl.col("kind") == "place").with_columns(key="plain"),
        names.filter(pl.col("kind") == "thing").pipe(_thing_keys),
    ]
    return pl.concat(part.select(*names.columns, "key") for part in parts)


def _person_keys(names: pl.DataFrame) -> pl.DataFrame:
    """The whole name; for a first name, the one whole name that begins with it, if there is just one."""
    whole = names.with_columns(person=person_name(pl.col("plain")), first=first_name(pl.col("plain")))
    is_whole = pl.col("person").str.contains(" ")
    candidates = whole.filter(is_whole).select(*OWNER, "first", whole="person")
    only = whole.join(_only(candidates, "first"), on=[*OWNER, "first"], how="left")
    stands_for = pl.when(~is_ambiguous(pl.col("plain"))).then("whole")
    return only.with_columns(key=pl.when(is_whole).then("person").otherwise(pl.coalesce(stands_for, "plain")))


def _thing_keys(names: pl.DataFrame) -> pl.DataFrame:
    """The name without version and legal form; a short form of one organization's full name is that full name."""
    bare = with_thing_name(names, "bare", pl.col("entity_type"))
    organizations = bare.filter(pl.col("entity_type") == "organization").with_columns(
        stem=pl.col("bare").str.replace(_TRADE, "")
    )
    longer = organizations.filter((pl.col("stem") != pl.col("bare")) & ~is_ambiguous(pl.col("stem")))
    full = _only(longer.select(*OWNER, bare="stem", full="bare"), "bare")
    short = organizations.select(*OWNER, "bare").unique().join(full, on=[*OWNER, "bare"], how="inner")
    return bare.join(short, on=[*OWNER, "bare"], how="left").with_columns(key=pl.coalesce("full", "bare"))


def _only(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """Rows of the owner, `key` and one value, for keys that have just one value."""
    return rows.unique().filter(pl.len().over(*OWNER, key) == 1)


def _described(keyed: pl.DataFrame) -> pl.DataFrame:
    """One row an entity: its best name, its type, its other names."""
    is_versioned = (pl.col("entity_type") == "tool") & (pl.col("key") != pl.col("plain"))
    shown = pl.when(is_versioned).then(without_version(pl.col("name"))).otherwise("name")
    is_person = pl.col("kind") == "person"
    named = keyed.with_columns(shown=shown.str.replace(r"['’]s$", "")).with_columns(
        is_whole=(is_person & pl.col("plain").str.contains(" ")) | pl.col("plain").str.contains(_TRADE),
        has_legal_form=has_legal_form(pl.col("plain")),
        has_accents=pl.col("shown").str.contains(r"[^\x00-\x7f]"),
        is_cased=pl.col("shown").str.contains(r"\p{Lu}"),
        # Robert before Bob, Mara Lindqvist before Lindqvist, Mara
        is_formal=(first_name(pl.col("plain")) == pl.col("plain").str.extract(r"^(\S+)", 1))
        & ~pl.col("shown").str.contains(", ", literal=True),
        times=pl.col("said_count").sum().over("entity_id", "shown"),
        length=pl.col("shown").str.len_chars(),
        is_described=pl.col("called") != plain_name(pl.col("name")),
    )
    falling = ["is_cased", "is_formal", "times", "has_accents", "length", "shown"]
    order = ["entity_id", "is_described", "is_whole", "has_legal_form", *falling]
    best = named.sort(order, descending=[False, False, True, False, *[True] * len(falling)])
    by_type = pl.col("entity_type").cast(pl.Enum(TYPES))
    types = (
        keyed.drop_nulls("entity_type")
        .group_by("entity_id", "entity_type")
        .agg(times=pl.col("said_count").sum())
        .sort("entity_id", "times", by_type, descending=[False, True, False])
        .group_by("entity_id")
        .agg(pl.col("entity_type").first())
    )
    return (
        best.group_by("entity_id", maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in _PER_FAMILY),
            canonical_name=pl.col("shown").first(),
            aliases=pl.col("name").unique().sort(),
        )
        .with_columns(
            aliases=pl.col("aliases").list.set_difference(pl.concat_list("canonical_name")).list.sort()
        )
        .join(types, on="entity_id", how="left")
        .select("entity_id", *OWNER, "canonical_name", "entity_type", "aliases", "family")
    )


def entity_changes(entities: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Rows of `entities` (as `resolve` gives them) that are new or say something else than the rows of `known`."""
    names = entities.columns
    flat = pl.col("aliases").list.join("\x1f")
    before = known.select(names).with_columns(flat)
    same = entities.with_columns(flat).join(before, on=names, how="semi", nulls_equal=True)
    return entities.join(same, on="entity_id", how="anti", maintain_order="left")


def vanished(known: pl.DataFrame, before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Entities of `known` that no mention names any more: `entity_id`, and `merged_into`, which took most of its names.

    `before` and `after` are the mentions with the entities that they had and have. `merged_into` is null where the
    mentions are gone.
    """
    gone = known.select("entity_id").join(after, on="entity_id", how="anti")
    moved = (
        before.join(gone, on="entity_id", how="semi")
        .select("mention_id", "entity_id")
        .join(after.select("mention_id", merged_into="entity_id"), on="mention_id", how="inner")
        .group_by("entity_id", "merged_into")
        .len()
        .sort("entity_id", "len", "merged_into", descending=[False, True, False])
        .group_by("entity_id")
        .agg(pl.col("merged_into").first())
    )
    return gone.join(moved, on="entity_id", how="left").sort("entity_id")
