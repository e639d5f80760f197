"""Edges: which there are, how many, and whose."""

from datetime import timedelta

import polars as pl

from slowwave.stages.graph.artifacts import artifacts_of
from slowwave.stages.graph.graph_edges import (
    causal_edges,
    chain_edges,
    edge_changes,
    evidence_edges,
    mirrored_edges,
    related_edges,
)
from tests.rows import DAY, OWNER, row, rows

NEAR = {"cell_id": "new", **OWNER, "event_time": DAY, "topic_id": "T1"}


def ends(edges: pl.DataFrame) -> list[tuple[str, str]]:
    return sorted(edges.select("source_id", "target_id").rows())


def test_a_cell_has_edges_to_its_first_turns_and_no_more_than_allowed() -> None:
    cells = rows("cells", row("cells", "c", evidence=["t1", "t2", "t3"]), row("cells", "d", evidence=[]))
    assert ends(evidence_edges(cells, most=2)) == [("c", "t1"), ("c", "t2")]


def test_conversations_follow_each_other_within_one_owner_only() -> None:
    nodes = pl.DataFrame(
        [
            {"node_id": name, **OWNER, "user_id": who, "event_time": DAY + timedelta(days=day)}
            for name, who, day in [("b", "ana", 2), ("a", "ana", 1), ("x", "ben", 1), ("c", "ana", 3)]
        ]
    )
    assert ends(chain_edges(nodes)) == [("a", "b"), ("b", "c")]


def test_a_conversation_that_comes_between_takes_the_edge_over() -> None:
    days = {"a": 1, "b": 2, "c": 3}
    whole = pl.DataFrame(
        [{"node_id": k, **OWNER, "event_time": DAY + timedelta(days=d)} for k, d in days.items()]
    )
    before = chain_edges(whole.filter(pl.col("node_id") != "b"))
    known = before.select("edge_id", "source_id", "target_id", "valid_until")
    drawn, ended = edge_changes(chain_edges(whole), known)
    assert ends(drawn) == [("a", "b"), ("b", "c")]
    assert ended.is_empty()
    assert set(before["edge_id"]) < set(drawn["edge_id"]), "the way to c has one edge, now from b"


def test_what_was_merged_as_said_twice_is_no_supersession() -> None:
    cells = rows(
        "cells",
        row("cells", "old", status="superseded", superseded_by="new", superseded_at=DAY, valid_until=DAY),
        row("cells", "twice", status="superseded", superseded_by="new", superseded_at=DAY),
        row("cells", "raw", status="superseded", superseded_at=DAY),
    )
    contradiction = rows("contradictions", row("contradictions", "x", cell_a="p", cell_b="q"))
    judged = rows("judgements", row("judgements", "j", cell_id="more", target_id="less", effect="elaborated"))
    edges = mirrored_edges(cells, contradiction, judged)
    assert sorted(edges.select("relation", "source_id", "target_id").rows()) == [
        ("contradicts", "q", "p"),
        ("elaborates", "more", "less"),
        ("supersedes", "new", "old"),
    ]


def test_near_cells_of_the_same_topic_or_too_far_are_not_related_and_the_others_are_bounded() -> None:
    near = pl.DataFrame(
        [
            {**NEAR, "target_id": target, "target_topic_id": topic, "similarity": similarity}
            for target, topic, similarity in [
                ("same", "T1", 0.95), ("far", "T2", 0.3), ("new", "T1", 1.0), ("p", "T2", 0.8), ("q", "T3", 0.9),
                ("r", "T2", 0.7), ("none", None, 0.9),
            ]
        ]
    )  # fmt: skip
    edges = related_edges(near, most=2, least=0.6)
    assert edges.select("target_id", "weight").rows() == [("q", 0.9), ("p", 0.8)]


def test_a_pair_is_related_once_whichever_of_the_two_is_new() -> None:
    there = {**NEAR, "target_id": "old", "target_topic_id": "T2", "similarity": 0.9}
    back = {
        **NEAR,
        "cell_id": "old",
        "topic_id": "T2",
        "target_id": "new",
        "target_topic_id": "T1",
        "similarity": 0.9,
    }
    assert related_edges(pl.DataFrame([there, back]), most=3, least=0.5).height == 1


def test_a_cause_is_of_the_owner_of_its_effect_not_later_and_rests_on_the_turns_of_both() -> None:
    later, aside = DAY + timedelta(days=2), {"origin": "untrusted"}
    cells = rows(
        "cells",
        row("cells", "cause", evidence=["t1"]),
        row("cells", "effect", evidence=["t2"]),
        row("cells", "theirs", user_id="ben"),
        row("cells", "later", valid_from=later),
        row("cells", "pasted", **aside),
        row("cells", "pasted too", **aside),
    )
    by = {"predicate": "led to it", "prompt_version": "infer_cause.v2", "model": "m"}
    pairs = [
        ("cause", "effect"), ("theirs", "effect"), ("cause", "unknown"), ("later", "effect"), ("pasted", "pasted too"),
        ("pasted", "effect"), ("cause", "effect"),
    ]  # fmt: skip
    answers = pl.DataFrame([{"source_id": source, "target_id": target, **by} for source, target in pairs])
    edges = causal_edges(answers, cells, confidence=0.7)
    assert ends(edges) == [("cause", "effect"), ("pasted", "effect")]
    assert edges.select("evidence", "confidence", "predicate", "model").row(0) == (
        ["t1", "t2"],
        0.7,
        "led to it",
        "m",
    )


def test_artifacts_come_from_the_extractor_and_in_raw_text_from_their_forms() -> None:
    text = "See PR #214 and commit 3f2a9bc1, ADR-12; api/auth/tokens.py, not https://x.org/a/b.py nor and/or."
    cells = rows(
        "cells",
        row("cells", "raw", content=text, prompt_version="raw", artifacts=[]),
        row(
            "cells",
            "told",
            content=text,
            prompt_version="extract_cells.v1",
            artifacts=["file:a.py", "pr#7", "else"],
        ),
    )
    found = artifacts_of(cells)
    assert sorted(found.select("cell_id", "artifact_type", "reference").rows()) == [
        ("raw", "adr", "12"),
        ("raw", "commit", "3f2a9bc1"),
        ("raw", "file", "api/auth/tokens.py"),
        ("raw", "pr", "214"),
        ("told", "file", "a.py"),
        ("told", "pr", "7"),
    ]
