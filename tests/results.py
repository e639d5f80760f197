"""A result of every type that an interface shows, made up of texts that say what they are."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from slowwave.schemas.context import Context
from slowwave.schemas.derivation import Derivation
from slowwave.schemas.lists import (
    CellDetail,
    CellRow,
    EntityRow,
    Page,
)
from slowwave.schemas.lists import EpisodeRow as Episode
from slowwave.schemas.report import Exported, NightReport, StageReport, StoryPart
from slowwave.schemas.results import (
    Dispute,
    Done,
    Erased,
    Explanation,
    Fading,
    ForgottenCell,
    FoundSource,
    Judged,
    Link,
    QuarantinedChunk,
    Quote,
    Recorded,
    Remembered,
    Resolved,
    Side,
    Stats,
    Status,
    Step,
    TopicSummary,
)  # fmt: skip
from slowwave.schemas.search import (
    CellHit,
    ChainStep,
    EntityPage,
    EntityResult,
    Excerpt,
    Fact,
    FormerValue,
    Neighbour,
    SearchResult,
    Timeline,
    TimelineEvent,
    TopicHit,
    TurnHit,
)  # fmt: skip

NOW = datetime(2026, 9, 10, 12, tzinfo=UTC)
SAID = datetime(2026, 9, 1, 9, tzinfo=UTC)
IDS = {"cell_id": "1a2b3c4d" + "0" * 16, "turn_id": "aabbccdd" + "0" * 16, "other_id": "99887766" + "0" * 16}

Model = TypeVar("Model", bound=BaseModel)


def made(model: type[Model], /, **given: Any) -> Model:
    """A model of the given fields; a required one that is missing gets a value of its type that says its name."""
    needed = {
        name: field for name, field in model.model_fields.items() if field.is_required() and name not in given
    }
    return model(**given, **{name: _value(name, field.annotation) for name, field in needed.items()})


def _value(name: str, kind: Any) -> Any:
    kinds = get_args(kind) if NoneType in get_args(kind) else (kind,)
    first = get_origin(kinds[0]) or kinds[0]
    plain = {
        datetime: SAID,
        int: 2,
        float: 0.5,
        bool: False,
        list: [],
        tuple: (),
        dict: {},
        Path: Path("/home/mara"),
    }
    if first is Literal:
        return get_args(kinds[0])[0]
    if first is str:
        return IDS.get(
            name, f"{name}-0123456789abcdef" if name.endswith("_id") else f"the {name.replace('_', ' ')}"
        )
    return plain[first]


LATER = made(Link, content="It runs at 1060 °C.", status="active", valid_until=None)
FORMER = made(FormerValue, value="1020", valid_until=SAID)
TURN = made(TurnHit, role="user", said_by="Mara", content="We fire at\n1040 °C now.", is_unread=True)
EXCERPT = Excerpt(text="... fires at 1040 °C ...", parts=[(10, 30)], words=[(13, 17)])
CELL = made(
    CellHit, text="The kiln fires at 1040 °C, and cools\nfor a night.", content="", excerpt=EXCERPT, why={"text": 0.4},
    template=None, rival=None, steps=["load", "fire"], valid_until=None, has_open_contradiction=True,
    history=[FORMER], evidence=[TURN], echo="1020 was until 2026-09-01",
)  # fmt: skip
SIDE = made(Side, content="It fires at 1040 °C.", origin="agent")
DISPUTE = made(Dispute, status="open", resolution=None, a=SIDE, b=None, subject="kiln", attribute="heat")
EVENT = made(
    TimelineEvent,
    content="The kiln was built.",
    status="superseded",
    until=NOW,
    superseded_by=IDS["other_id"],
)
STORED = made(
    CellRow,
    content="The kiln is blue. " * 20,
    status="active",
    superseded_by=None,
    valid_until=None,
    topic_id=None,
)
STAGE = StageReport(
    stage="extract", rows_in=3, counts={"cell.extracted": 2}, rejected={"too short": 1}, notes=["one page waits"],
    examples=["The kiln is blue."], seconds=1.5,
)  # fmt: skip

RESULTS: dict[str, BaseModel | list[Any]] = {
    "search": SearchResult(
        query="kiln", notes=["full text only"], lead="kiln, heat: 1040 [2026-09-01]", turns=[TURN], cells=[CELL],
        topics=[made(TopicHit, name="Kiln", summary="All about firing.", since=["heat: 1060"], is_outdated=True)],
        reasons=[made(ChainStep, depth=1, relation="causal", predicate="so that", status="active", excerpt=None)],
    ),
    "search-nothing": SearchResult(query="kiln", notes=["No memory yet"], cells=[], topics=[]),
    "context": Context(
        activity="general", small=False, budget_tokens=900, tokens=12, tiers=[], notes=["one note"],
        text="<slowwave-memory>\n## Critical\n- The kiln is blue.\n</slowwave-memory>",
    ),
    "entity": EntityResult(
        name="kiln", notes=["one note"],
        entities=[
            made(EntityPage, name="Kiln", aliases=["the oven"], needs_review=True,
                 neighbours=[made(Neighbour, name="Mara")], lately=[EVENT],
                 facts=[made(Fact, history=[FORMER], has_open_contradiction=True)])
        ],
    ),
    "timeline": Timeline(
        title="Kiln", events=[EVENT, made(TimelineEvent, status="active", until=None)], notes=["one note"]
    ),
    "contradictions": [DISPUTE],
    "remembered": Remembered(cell_id=IDS["cell_id"], is_searchable=True, notes=("one secret was redacted",)),
    "corrected": made(
        Done, content="It is green.", replaced=[IDS["other_id"]], changed={"cell.superseded": 1}, reason="wrong",
        left_out=["It is new."], notes=[f"contradiction {IDS['other_id']} is for a person to end"],
    ),
    "confirmed": made(Done, content="It is green.", changed={"cell.protected": 1}),
    "forgotten": made(Done, content="It is green.", changed={"cell.deleted": 1}),
    "resolved": Resolved(
        contradiction_id=IDS["cell_id"], resolution="a_wins", winner_id=IDS["turn_id"], superseded=[IDS["other_id"]]
    ),
    "erase-shown": Erased(dry_run=True, turn_ids=["a"], cell_ids=["b"], shown=["The code"], revived=["It is blue."]),
    "erased": Erased(turn_ids=["a"], cell_ids=["b"], rewritten={"segments": 1}, searched_texts=2, short_texts=1),
    "erased-in-part": Erased(cell_ids=["b"], remaining={"notes.txt": 1}),
    "recorded": Recorded(turn_ids=["a"], new_count=1, known_count=0, left_out={"empty": 1}),
    "list": Page[CellRow](
        entries=[STORED, STORED.model_copy(update={"status": "superseded"})], total=9, next_cursor="c1"
    ),
    "list-nothing": Page[CellRow](entries=[], total=0),
    "cell": CellDetail(
        **{name: getattr(STORED, name) for name in CellRow.model_fields}, effective_confidence=0.4, confirmations=1,
        retrieval_count=2, citation_count=3, ignore_count=0, has_open_contradiction=False, core_rank=4,
        evidence=[made(Quote, told="whole")], missing_turns=[IDS["turn_id"]],
    ),
    "explanation": made(
        Explanation, content="The kiln is blue.", state="active", valid_until=None, core_rank=None,
        core_reason="core memory may hold it: a person said it", quotes=[made(Quote, told="no")],
        before=[LATER.model_copy(update={"status": "superseded", "valid_until": SAID})], after=[LATER],
        judgements=[made(Judged)], contradictions=[DISPUTE], notes=["one note"],
        steps=[Step(at=SAID, kind="cell.extracted", told=f"made from {IDS['turn_id']}")],
    ),
    "entities": Page[EntityRow](entries=[made(EntityRow, name="Kiln", aliases=["the oven"])], total=1),
    "topics": Page[TopicSummary](entries=[made(TopicSummary, name="Kiln", summary=None)], total=1),
    "episodes": Page[Episode](entries=[made(Episode, content="They fired it.")], total=1),
    "weak": [made(Fading, fades_at=NOW + timedelta(days=3)), made(Fading, fades_at=SAID, whose="")],
    "archived": [made(ForgottenCell)],
    "quarantine": [made(QuarantinedChunk, error=None)],
    "status": made(Status, has_memory=True, rows={"cells": 3}, lost_segments=1, journal_bytes=2_000_000),
    "status-nothing": made(Status, has_memory=False),
    "stats": Stats(cells=3, by_type={"fact": 3}, by_topic={"Kiln": 2}, false_forgetting_rate=0.1),
    "stage": STAGE,
    "night": NightReport(
        night_id="n1", has_llm=False, stages=[STAGE], notes=["no model"], seconds=2.0,
        story=[StoryPart(name="learned", said="Learned two things.", lines=["The kiln is blue."], more_count=1)],
    ),
    "export": Exported(format="jsonl", folder="/tmp/out", files=["memory.jsonl"], counts={"memory": 2, "turn": 5}),
    "derivation": Derivation(action="derive", derivation_id="0123456789", dry_run=True, notes=["one note"]),
    "sources": [made(FoundSource, place="/srv/claude", paths=())],
}  # fmt: skip
"""By the name of its golden page."""
