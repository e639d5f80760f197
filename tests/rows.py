"""Whole rows of every table and one event of every kind, with only what a test speaks of spelled out."""

from collections.abc import Mapping
from datetime import UTC, datetime

import polars as pl

from slowwave.home.paths import Home
from slowwave.journal.catalogue import CATALOGUE, encode
from slowwave.journal.lookup import of_kind
from slowwave.schemas.tables import KEYS, TABLES, TIMESTAMP, frame_schema

NOW = datetime(2026, 9, 17, 3, 0, 0, 123456, tzinfo=UTC)
DAY = datetime(2026, 9, 1, tzinfo=UTC)

PLAIN: dict[str, object] = {
    "user_id": "ana",
    "project_id": "kiln",
    "scope": "user-private",
    "role": "user",
    "scale": "near",
    "origin": "user",
    "source_type": "conversation",
    "cell_type": "fact",
    "usage_type": "retrieved",
    "outcome": "completed",
    "verdict": "keep",
    "effect": "none",
    "relation": "causal",
    "artifact_type": "pr",
    "line_rank": 1,
    "salience": 0.5,
    "confidence": 0.9,
    "decay_rate": 0.1,
    "steps": [],
}
STATUS = {
    "cells": "active",
    "chunks": "pending",
    "contradictions": "open",
    "episodes": "written",
    "judging": "settled",
}
BY_TYPE: dict[pl.DataType, object] = {
    pl.String(): "text",
    pl.Int64(): 0,
    pl.Float64(): 0.0,
    pl.Boolean(): False,
    pl.List(pl.String()): ["turn-1"],
    TIMESTAMP: DAY,
}


def row(table: str, key: str, **given: object) -> dict[str, object]:
    """A whole row: nulls where they are allowed, plain values elsewhere, and what was given."""
    columns = TABLES[table].to_schema().columns
    unknown = set(given) - set(columns)
    assert not unknown, f"{table} has no columns {unknown}"
    plain = {**PLAIN, "status": STATUS.get(table)}
    whole = {
        name: None if columns[name].nullable else plain.get(name, BY_TYPE[kind])
        for name, kind in frame_schema(table).items()
    }
    return {**whole, KEYS[table]: key, **given}


def rows(table: str, *whole: Mapping[str, object]) -> pl.DataFrame:
    """A frame in the table's shape."""
    return pl.DataFrame([dict(one) for one in whole], schema=frame_schema(table), orient="row")


def table_of(table: str, keys: str, **given: object) -> pl.DataFrame:
    """Rows with these keys (words of one text) that are alike in all else."""
    return rows(table, *(row(table, key, **given) for key in keys.split()))


def events(kind: str, *payloads: Mapping[str, object]) -> pl.DataFrame:
    """Encoded events of one kind; payload columns that are not given are null."""
    schema = CATALOGUE[kind].payload
    unknown = {name for payload in payloads for name in payload} - set(schema)
    assert not unknown, f"{kind} has no {unknown}"
    whole = [{name: payload.get(name) for name in schema} for payload in payloads]
    return encode(kind, pl.DataFrame(whole, schema=schema, orient="row"))


def uses(home: Home) -> pl.DataFrame:
    """The records of use in the journal of a home."""
    return of_kind(home.journal.scan().events, "usage.recorded")


def of_row(kind: str, table: str, key: str, **given: object) -> pl.DataFrame:
    """An event whose payload is a row of a table, as far as the payload names its columns."""
    payload = CATALOGUE[kind].payload
    whole = {name: value for name, value in row(table, key).items() if name in payload}
    return events(kind, {**whole, **given})


OWNER = {name: PLAIN[name] for name in ("user_id", "project_id", "scope")}
MODEL = {"prompt_version": "extract_cells.v1", "model": "gpt-oss"}


def identity_events() -> list[pl.DataFrame]:
    """Two descriptions of people, of which one is parted again."""
    told = {"name": "anas wife", "same_as": "bo", "mention_count": 1, "evidence": ["c2"], **OWNER, **MODEL}
    return [
        events("identity.recorded", *({**told, "identity_id": key} for key in ("i1", "i2"))),
        events("identity.dropped", {"identity_id": "i2"}),
    ]


def episode_events() -> pl.DataFrame:
    """Conversations told, told again, failed, released and gone, and a memory that got its short forms."""

    def told(key: str, **given: object) -> pl.DataFrame:
        said = {"evidence": ["t1"], "artifacts": ["pr:7"], "turn_count": 1, "cell_ids": ["c2"], **MODEL}
        return of_row("episode.written", "cells", key, **{"content": "Kiln\nAna set it.", **said, **given})

    lost = {"status": "failed", "turn_count": 4, "attempts": 2, "error": "no JSON", "retry_at": NOW}
    return pl.concat(
        [
            told("e1", summary="Ana set kiln 2."),
            told("e1", content="Kiln\nAna set it to 1040 °C.", turn_count=2, evidence=["t1", "t2"]),
            told("e2"),
            events("episode.dropped", {"cell_id": "e2", "reason": "its conversation is gone"}),
            events("episode.failed", {"cell_id": "e3", "session_id": "s3", **lost, **OWNER, **MODEL}),
            events("episode.failed", {"cell_id": "e1", "session_id": "text", **lost, **OWNER, **MODEL}),
            events("episode.released", {"cell_id": "e3"}),
            events("cell.labelled", {"cell_id": "c2", "compressed": "kiln 2", "index_label": "kiln"}),
        ]
    )


def one_of_every_kind() -> pl.DataFrame:
    """A small history in which every kind of the catalogue stands once or more, raw events before derived ones."""
    cell = {"entities": ["kiln"], "artifacts": ["pr#7"], "evidence": ["t1"], **MODEL}
    return pl.concat(
        [
            events("derivation.switched", {"derivation_id": "r1"}),
            of_row("space.fitted", "spaces", "v1"),
            events("text.redacted", {"redaction_id": "r1", "event_id": "x.0", "secret_kind": "password"}),
            of_row(
                "turn.recorded", "turns", "t1", content='kiln „2“ at 1040 °C\n\tsince "today" \\ 😀\u2028.'
            ),
            of_row("chunk.cut", "chunks", "k1", turn_ids=["t1"], token_count=9),
            of_row("chunk.cut", "chunks", "k2", turn_ids=["t1"], token_count=9),
            of_row("chunk.cut", "chunks", "k3", turn_ids=["t1"], token_count=9),
            of_row("source.recorded", "sources", "s1", turn_count=1),
            events(
                "chunk.gated",
                {"chunk_id": "k1", "is_worth": True, "reason": "a value", **MODEL},
                {"chunk_id": "k2", "is_worth": False, "reason": "greeting", **MODEL},
            ),
            of_row(
                "cell.extracted", "cells", "c1", content="Kiln 2 runs at 1060 °C.", value="1060 °C", **cell
            ),
            of_row(
                "cell.extracted", "cells", "c2", content="Kiln 2 runs at 1040 °C.", value="1040 °C", **cell
            ),
            of_row("cell.extracted", "cells", "c3", content="Kiln 2 runs at 1040 °C !", **cell),
            of_row("cell.extracted", "cells", "c4", content="The shift begins at 6.", **cell),
            of_row("cell.extracted", "cells", "c5", content="Ana said hello.", **cell),
            of_row("cell.extracted", "cells", "c6", content="user: kiln 2 at 1040", **cell),
            of_row(
                "cell.extracted", "cells", "c7", content="The old kiln is blue.", salience=0.1 + 0.2, **cell
            ),
            of_row(
                "cell.imported",
                "cells",
                "c7",
                confidence=0.7,
                status="active",
                evidence=["t1"],
                retrieval_count=2,
                last_accessed=DAY,
                imported_from="memories.jsonl",
                **dict.fromkeys(("citation_count", "ignore_count", "confirmations"), 0),
                **dict.fromkeys(("archived_count", "revived_count"), 0),
            ),
            of_row("contradiction.imported", "contradictions", "x2", cell_a="c6", cell_b="c7"),
            events("chunk.extracted", {"chunk_id": "k1", "cell_count": 7, "rejected_count": 0, **MODEL}),
            events(
                "chunk.failed",
                {"chunk_id": "k3", "attempts": 3, "status": "quarantined", "error": "no JSON", **MODEL},
            ),
            events("chunk.released", {"chunk_id": "k3"}),
            events(
                "topic.opened",
                {"topic_id": "T1", "name": "kiln", **OWNER},
                {"topic_id": "T2", "name": "kilns", **OWNER},
            ),
            events(
                "cell.assigned",
                *({"cell_id": f"c{n}", "topic_id": "T1", "similarity": 0.75} for n in range(1, 8)),
            ),
            events("topic.merged", {"topic_id": "T2", "merged_into": "T1"}),
            events("topic.renamed", {"topic_id": "T1", "name": "kiln 2"}),
            events("topic.counted", {"topic_id": "T1", "cell_count": 7, "unsummarized_count": 7}),
            events("cell.merged", {"cell_id": "c3", "superseded_by": "c2", "superseded_at": DAY}),
            events(
                "cell.confirmed",
                {
                    "cell_id": "c2",
                    "confirmed_by": "c3",
                    "confirmations": 1,
                    "evidence": ["t1", "t2"],
                    "last_accessed": NOW,
                    **MODEL,
                },
            ),
            events(
                "cell.superseded",
                {
                    "cell_id": "c1",
                    "superseded_by": "c2",
                    "superseded_at": NOW,
                    "valid_until": DAY,
                    "verdict": "updates",
                    **MODEL,
                },
            ),
            events(
                "cell.succeeded",
                {
                    "cell_id": "c2",
                    "supersedes": "c1",
                    "summary": "now 1040 °C; previously 1060 °C (until 2026-09-01)",
                    **MODEL,
                },
            ),
            events("cell.retired", {"cell_id": "c6", "superseded_at": DAY}),
            events("cell.judged", {"cell_id": "c2"}),
            events("cell.flagged", {"cell_id": "c4", "reason": "elaborates c1"}),
            of_row(
                "pair.judged",
                "judgements",
                "j1",
                cell_id="c2",
                target_id="c1",
                verdict="updates",
                effect="superseded",
            ),
            events(
                "contradiction.opened",
                {
                    "contradiction_id": "x1",
                    "cell_a": "c1",
                    "cell_b": "c4",
                    "subject": "kiln",
                    "note": "both",
                    **OWNER,
                    **MODEL,
                },
            ),
            events(
                "contradiction.closed", {"contradiction_id": "x1", "resolution": "b_wins", "note": "gone"}
            ),
            events("cell.reviewed", {"cell_id": "c4", "verdict": "keep", "reason": "still so", **MODEL}),
            events(
                "judging.failed",
                {"cell_id": "c7", "attempts": 3, "status": "quarantined", "error": "no JSON", **MODEL},
            ),
            events("judging.released", {"cell_id": "c7"}),
            events("cell.reinstated", {"cell_id": "c3"}),
            events("topic.flagged", {"topic_id": "T1", "reason": "superseded"}),
            events(
                "topic.summarized",
                {
                    "topic_id": "T1",
                    "summary": "Kiln 2 runs at 1040 °C.",
                    "compressed": "1040 °C",
                    "cell_ids": ["c2", "c4"],
                    **MODEL,
                },
            ),
            of_row("usage.recorded", "usage", "u1", cell_id="c2"),
            of_row("usage.recorded", "usage", "u2", cell_id="c2", usage_type="cited", context="answer"),
            of_row(
                "cell_usage.folded",
                "cell_usage",
                "c2",
                retrieval_count=1,
                citation_count=1,
                confirmations=1,
                last_accessed=NOW,
            ),
            events("usage.folded", {"usage_id": "u1"}),
            events(
                "cell.archived",
                {"cell_id": "c4", "effective_confidence": 0.01, "reason": "faded", "archived_count": 1},
                {"cell_id": "c7", "effective_confidence": 0.02, "reason": "faded", "archived_count": 1},
            ),
            events("cell.revived", {"cell_id": "c4", "revived_count": 1, "last_accessed": NOW}),
            events(
                "core.promoted",
                {
                    "cell_id": "c2",
                    "line_rank": 1,
                    "line": "[fact] 1040 °C",
                    "reason": "chosen",
                    **OWNER,
                    **MODEL,
                },
                {
                    "cell_id": "c4",
                    "line_rank": 2,
                    "line": "[fact] shift",
                    "reason": "chosen",
                    **OWNER,
                    **MODEL,
                },
            ),
            events("core.moved", {"cell_id": "c2", "line_rank": 3}),
            events("core.demoted", {"cell_id": "c4", "reason": "not chosen"}),
            events("core.struck", {"cell_id": "c7"}),
            events("cell.pruned", {"cell_id": "c1", "reason": "superseded"}),
            events(
                "cell.deleted",
                {"cell_id": "c5", "content_hash": "text", "note": "asked for", "evidence": [], **OWNER},
            ),
            events(
                "entity.resolved",
                *(
                    {
                        "entity_id": f"e{n}",
                        "canonical_name": "Kiln 2",
                        "aliases": ["kiln 2"],
                        "family": "kiln",
                        "mention_count": 3,
                        **OWNER,
                    }
                    for n in range(1, 4)
                ),
            ),
            of_row("mention.recorded", "mentions", "m1", cell_id="c2", entity_id="e1"),
            of_row("mention.recorded", "mentions", "m2", cell_id="c5", entity_id="e2"),
            of_row("artifact.recorded", "artifacts", "a1", cell_id="c2", artifact_type="pr"),
            of_row("artifact.recorded", "artifacts", "a2", cell_id="c5", artifact_type="pr"),
            of_row("edge.drawn", "edges", "g1", relation="causal", evidence=["c2"]),
            of_row("edge.drawn", "edges", "g2", relation="causal", evidence=["e1"]),
            of_row("edge.drawn", "edges", "g3", relation="causal", evidence=[]),
            events("edge.dropped", {"edge_id": "g2"}),
            events("mention.dropped", {"mention_id": "m2"}),
            events("artifact.dropped", {"artifact_id": "a2"}),
            events("entity.flagged", {"entity_id": "e1", "reason": "superseded"}),
            events("entity.unsummarized", {"entity_id": "e1", "reason": "a person deleted it"}),
            events(
                "entity.enriched",
                {"entity_id": "e1", "summary": "A kiln.", "enriched_count": 3, **MODEL},
            ),
            events("entity.merged", {"entity_id": "e2", "merged_into": "e1"}),
            events("entity.dropped", {"entity_id": "e3"}),
            events(
                "cell.linked",
                {"cell_id": "c2", "confirmations": 1},
                {"cell_id": "c5", "confirmations": 0},
            ),
            events("cell.examined", {"cell_id": "c2"}),
            *identity_events(),
            events("cell.unlinked", {"cell_id": "c5"}),
            of_row("night.completed", "nights", "n1", has_llm=True, call_count=4, cost=0.25),
            episode_events(),
            words_of_a_person(),
        ]
    )


def words_of_a_person() -> pl.DataFrame:
    """What a person said about the memories of `one_of_every_kind`."""
    settled = {
        "contradiction_id": "x1",
        "resolution": "a_wins",
        "resolution_note": "I looked",
        "winner_id": "c2",
    }
    standing = {"cell_id": "c3", "status": "archived"}
    return pl.concat(
        [
            events("cell.protected", {"cell_id": "c2", "confidence": 1.0, "note": "seen on the dial"}),
            events("contradiction.resolved", settled),
            of_row("contradiction.opened", "contradictions", "d2", cell_a="c2", cell_b="c3"),
            events("contradiction.resolved", {"contradiction_id": "d2", "resolution": "both_valid"}),
            events("contradiction.reopened", {"contradiction_id": "d2"}),
            events("cell.restored", standing),
            events("cell.dated", {"cell_id": "c4", "valid_from": NOW}),
            events("topic.unsummarized", {"topic_id": "T1", "cell_ids": ["c2", "c4"], "reason": "forgotten"}),
            events(
                "cell.deleted",
                {
                    "cell_id": "c7",
                    "content_hash": "blue",
                    "content": "The kiln is blue.",
                    "evidence": [],
                    **OWNER,
                },
            ),
            events("cell.deleted", {"cell_id": "c8", "content_hash": "green", "evidence": [], **OWNER}),
            events("cell.readmitted", {"cell_id": "c8"}),
            events("cell.erased", {"cell_id": "c5", "content_hash": "text", **OWNER}),
            of_row("turn.recorded", "turns", "t9", content="erased"),
            events("turn.erased", {"turn_id": "t9", "source_id": "s1", "content_hash": "text", **OWNER}),
        ]
    )
