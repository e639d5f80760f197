"""A result of every type that an interface shows, made up of texts that say what they are."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from slowwave.schemas.context import Context
from slowwave.schemas.derivation import Derivation
from slowwave.schemas.report import Exported, NightReport, StageReport, StoryPart
from slowwave.schemas.results import (
    Cell,
    Dispute,
    Done,
    Entity,
    EntityResult,
    Erased,
    FormerValue,
    FoundSource,
    Judged,
    Life,
    LifeEvent,
    Neighbour,
    Page,
    QuarantinedChunk,
    Rank,
    SearchResult,
    Stats,
    Status,
    Step,
    Timeline,
    Topic,
    Turn,
    Use,
)
from slowwave.schemas.search import Excerpt

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


def cell(**given: Any) -> Cell:
    """A memory that holds; without a name of what is told, its fields say their names."""
    plain = {"status": "active", "valid_until": None, "template": None, "superseded_by": None}
    return made(Cell, **{**plain, **given})


EXCERPT = Excerpt(text="... fires at 1040 °C ...", parts=[(10, 30)], words=[(13, 17)])
FORMER = made(FormerValue, value="1020", valid_until=SAID)
TURN = made(
    Turn, role="user", said_by="Mara", is_unread=True,
    rank=made(Rank, text="We fire at\n1040 °C now."), content="We fire at\n1040 °C now.",
)  # fmt: skip
FOUND = cell(
    rank=made(
        Rank, text="The kiln fires at 1040 °C, and cools\nfor a night.", excerpt=EXCERPT, why={"text": 0.4}
    ),
    steps=["load", "fire"], has_open_contradiction=True, history=[FORMER], evidence=[TURN], use=Use(confirmations=2),
    echo="1020 was until 2026-09-01", topic_name="the topic name", whose="the whose",
)  # fmt: skip
SIDE = cell(content="It fires at 1040 °C.", whose="an assistant said", protected=False)
DISPUTE = made(Dispute, status="open", resolution=None, a=SIDE, subject="kiln", attribute="heat")
EVENT = cell(
    content="The kiln was built.", whose="the whose", status="superseded", valid_until=NOW,
    superseded_by=IDS["other_id"],
)  # fmt: skip
STORED = cell(
    content="The kiln is blue. " * 20, topic_id=None, topic_name="the topic name",
    use=Use(effective_confidence=0.4, confirmations=1, retrieval_count=2, citation_count=3, core_rank=4),
    evidence=[made(Turn, whose="the whose", told="whole")], missing_turns=[IDS["turn_id"]],
)  # fmt: skip
LATER = cell(content="It runs at 1060 °C.")
LIFE = made(
    Life, state="active", core_reason="core memory may hold it: a person said it",
    before=[LATER.model_copy(update={"status": "superseded", "valid_until": SAID})], after=[LATER],
    judgements=[made(Judged)], contradictions=[DISPUTE], notes=["one note"],
    events=[LifeEvent(at=SAID, kind="cell.extracted", told=f"made from {IDS['turn_id']}")],
)  # fmt: skip
STAGE = StageReport(
    stage="extract", rows_in=3, counts={"cell.extracted": 2}, rejected={"too short": 1}, notes=["one page waits"],
    examples=["The kiln is blue."], seconds=1.5,
)  # fmt: skip

RESULTS: dict[str, BaseModel | list[Any]] = {
    "search": SearchResult(
        query="kiln", notes=["full text only"], lead="kiln, heat: 1040 [2026-09-01]", turns=[TURN], cells=[FOUND],
        topics=[made(Topic, name="Kiln", since=["heat: 1060"], is_outdated=True, whose="the whose",
                     rank=made(Rank, text="All about firing."))],
        reasons=[cell(whose="the whose", rank=made(Rank, text="the content"),
                      step=made(Step, depth=1, relation="causal", predicate="so that"))],
    ),
    "search-nothing": SearchResult(query="kiln", notes=["No memory yet"]),
    "context": Context(
        activity="general", small=False, budget_tokens=900, tokens=12, tiers=[], notes=["one note"],
        text="<slowwave-memory>\n## Critical\n- The kiln is blue.\n</slowwave-memory>",
    ),
    "entity": EntityResult(
        name="kiln", notes=["one note"],
        entities=[
            made(Entity, name="Kiln", first_at=SAID, last_at=SAID, aliases=["the oven"], needs_review=True,
                 neighbours=[made(Neighbour, name="Mara")], lately=[EVENT],
                 facts=[cell(history=[FORMER], has_open_contradiction=True)])
        ],
    ),
    "timeline": Timeline(
        title="Kiln", events=[EVENT, cell(whose="the whose")], notes=["one note"]
    ),
    "contradictions": [DISPUTE],
    "remembered": Done(cell_id=IDS["cell_id"], notes=["one secret was redacted"]),
    "corrected": Done(
        cell_id=IDS["cell_id"], content="It is green.", replaced=[IDS["other_id"]], changed={"cell.superseded": 1},
        reason="wrong",
        left_out=["It is new."], notes=[f"contradiction {IDS['other_id']} is for a person to end"],
    ),
    "confirmed": Done(cell_id=IDS["cell_id"], content="It is green.", changed={"cell.protected": 1}),
    "forgotten": Done(cell_id=IDS["cell_id"], content="It is green.", changed={"cell.deleted": 1}),
    "resolved": Done(
        contradiction_id=IDS["cell_id"], resolution="a_wins", cell_id=IDS["turn_id"], replaced=[IDS["other_id"]]
    ),
    "erase-shown": Erased(dry_run=True, turn_ids=["a"], cell_ids=["b"], shown=["The code"], revived=["It is blue."]),
    "erased": Erased(turn_ids=["a"], cell_ids=["b"], rewritten={"segments": 1}, searched_texts=2, short_texts=1),
    "erased-in-part": Erased(cell_ids=["b"], remaining={"notes.txt": 1}),
    "list": Page[Cell](
        entries=[STORED, STORED.model_copy(update={"status": "superseded"})], total=9, next_cursor="c1"
    ),
    "list-nothing": Page[Cell](entries=[], total=0),
    "cell": STORED,
    "explanation": STORED.model_copy(update={"content": "The kiln is blue.", "life": LIFE}),
    "entities": Page[Entity](entries=[made(Entity, name="Kiln", aliases=["the oven"])], total=1),
    "topics": Page[Topic](entries=[made(Topic, name="Kiln", summary=None)], total=1),
    "weak": [cell(use=Use(fades_at=NOW + timedelta(days=3))), cell(use=Use(fades_at=SAID))],
    "quarantine": [made(QuarantinedChunk, error=None)],
    "status": made(
        Status, has_memory=True, rows={"cells": 3}, pending={"chunks_pending": 2, "pairs_not_judged": 0},
        lost_segments=1, journal_bytes=2_000_000,
    ),
    "status-nothing": made(Status, has_memory=False),
    "stats": Stats(cells=3, by={"type": {"fact": 3}, "topic": {"Kiln": 2}}),
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
