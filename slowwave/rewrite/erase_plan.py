"""The plan of an erase: what goes, by ids and texts, and how each kind of event changes with it."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

import polars as pl

from slowwave.edits.consequences import unsummarized
from slowwave.home.entities import resolved_names
from slowwave.home.kept_out import digests
from slowwave.home.paths import Home
from slowwave.home.workspace import Workspace
from slowwave.rewrite.engine import Plan
from slowwave.rewrite.transform import WHOLE_TURN, Event, Masker, Payload, own_family, quoting, with_texts
from slowwave.schemas.text_columns import is_reference

ERASED = "[erased]"
"""Replaces a text that was erased, in what quoted it."""

WHY = "a person erased what it was written from"

LINKS = frozenset({"supersedes", "superseded_by"})
"""Ids beside what an event is about: the event stays, and no longer names what goes."""

KEPT_KINDS = frozenset({"cell.erased", "turn.erased"})

VERBATIM = frozenset({"turn.recorded", "cell.extracted", "cell.deleted"})
"""Kinds that hold the words of one turn or memory: those of others are masked only where a text was named."""

OF_STATE = frozenset({"cell.extracted", "cell.imported"})
"""Kinds that say more of a memory than its topic."""

RETIRING = frozenset({"cell.superseded", "cell.merged"})

WRITTEN = frozenset({"topic.summarized", "episode.written", "identity.recorded"})
"""Kinds that were made from the memories and turns that they name, and go with them."""


class ErasePlan(Plan):
    """Ids and texts of everything that an erase removes or touches.

    `turns` and `cells` are the rows that go, which may have left the store already. `lone_topic_ids` held nothing else,
    `topic_ids` lost some of their memories. `cut_ids` are memories whose timeline names erased ones, and chunks that
    hold more than erased turns. `waiting_chunk_ids` gave memories that rest on more than erased turns: they are
    extracted again. Episodes in `episode_ids` are written anew; entities in `entity_ids`, of `families`, are resolved
    anew. Nothing follows the memories in `stranded` any more. `links` are the events (`kind`, `payload`) that mend the
    chains. `short_count` texts are too short to be searched for.
    `is_text` says that a text was named: it is masked wherever it occurs.
    """

    turns: Sequence[dict[str, str]] = ()
    cells: Sequence[dict[str, str]] = ()
    chunk_ids: Sequence[str] = ()
    lone_topic_ids: Sequence[str] = ()
    topic_ids: Sequence[str] = ()
    cut_ids: Sequence[str] = ()
    waiting_chunk_ids: Sequence[str] = ()
    short_count: int = 0
    is_text: bool = False
    episode_ids: Sequence[str] = ()
    entity_ids: Sequence[str] = ()
    families: Sequence[str] = ()
    stranded: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()

    @staticmethod
    def path_in(home: Home) -> Path:
        """`erase.json`, until the end."""
        return home.erase_path

    def with_names(self, root: Path) -> Self:
        """The plan with the events that keep out what goes, by digests under the secret of the home."""
        turns, cells = _digested(root, self.turns, "turn_id"), _digested(root, self.cells, "cell_id")
        # an id, and not the text: the same text may be said and erased again
        ids = [*(row["turn_id"] for row in turns), *(row["cell_id"] for row in cells)]
        named = {"turn.erased": turns, "cell.erased": cells}
        return self.model_copy(update={"names": named, "mark": ids[0] if ids else ""})

    @property
    def turn_ids(self) -> list[str]:
        """The turns that go, sorted."""
        return sorted(row["turn_id"] for row in self.turns)

    @property
    def cell_ids(self) -> list[str]:
        """The memories that go, sorted."""
        return sorted(row["cell_id"] for row in self.cells)

    @cached_property
    def erased(self) -> frozenset[str]:
        """Turns and memories that go."""
        return frozenset({*self.turn_ids, *self.cell_ids})

    @cached_property
    def masker(self) -> Masker:
        """Masks the texts."""
        return Masker(dict.fromkeys(self.texts, ERASED))

    def masked(self, line: str) -> str:
        """A line with marks in the place of the texts."""
        return self.masker.mask(line)[0]

    def after(self, events: Sequence[Event]) -> list[Payload | None]:
        """Each event by itself."""
        return [
            self._after(event, is_quoting=is_quoting)
            for event, is_quoting in zip(events, quoting(events, self.masker), strict=True)
        ]

    def _after(self, event: Event, *, is_quoting: bool) -> Payload | None:
        """An event's payload after the erase; None where nothing of the event stays."""
        kind, payload = event.kind, event.payload
        if kind in KEPT_KINDS:
            return payload
        about = {
            value
            for name, value in payload.items()
            if isinstance(value, str) and is_reference(name) and name not in LINKS
        }
        if not about.isdisjoint(self.episode_ids):
            # the deletion of an episode holds, whatever is left of its conversation
            return {**payload, "content": None, "note": None} if kind == "cell.deleted" else None
        if about & self.erased or self._goes(kind, payload):
            return None
        after = self._unnamed(payload)
        if kind in WRITTEN and after != payload:
            return None  # it was written from what goes
        if kind == "mention.recorded" and payload.get("entity_id") in self.entity_ids:
            after["family"] = own_family(str(payload["name"]))
        self._cut(kind, payload, after)
        is_masked = is_quoting and (self.is_text or kind not in VERBATIM)
        return with_texts(kind, after, self.masked) if is_masked else after

    def _goes(self, kind: str, payload: Payload) -> bool:
        """Return whether an event is about something that goes with turns and memories."""
        is_lone = payload.get("topic_id") in self.lone_topic_ids and kind not in OF_STATE
        is_entity = kind.startswith("entity.") and payload.get("entity_id") in self.entity_ids
        is_chunk = kind.startswith("chunk.") and payload.get("chunk_id") in self.chunk_ids
        is_retiring = kind in RETIRING and payload.get("superseded_by") in self.erased
        return is_lone or is_entity or is_chunk or is_retiring

    def _unnamed(self, payload: Payload) -> Payload:
        """The payload without the ids of what goes."""
        after = dict(payload)
        for name, value in payload.items():
            if is_reference(name) and isinstance(value, list):
                after[name] = [item for item in value if item not in self.erased]
        return after | {name: None for name in LINKS if after.get(name) in self.erased}

    def _cut(self, kind: str, before: Payload, after: Payload) -> None:
        """Take out what a model or a fold wrote with an eye on what goes."""
        if before.get("cell_id") in self.cut_ids and kind in ("cell.succeeded", "cell.imported"):
            after["summary"] = None
        if kind == "cell.imported" and before.get("superseded_by") in self.erased:
            after |= {"status": "active", "superseded_by": None, "superseded_at": None, "valid_until": None}
        if before.get("chunk_id") in self.cut_ids:
            after.update({name: None for name in ("reason", "error") if name in after})
        turns = before.get("turn_ids")
        if kind == "chunk.cut" and isinstance(turns, list) and turns != after["turn_ids"]:
            if turns[0] in self.erased:
                after["first_char"] = 0
            if turns[-1] in self.erased:
                after["last_char"] = WHOLE_TURN

    def repair(self, work: Workspace) -> None:
        """Mend chains, resolve names anew, and let topics wait for a new summary."""
        if self.links:
            work.commit(pl.DataFrame(self.links, schema=["kind", "payload"], orient="row"), now=work.clock())
        topics = work.store.by_key("topics", self.topic_ids, ["topic_id"])
        work.commit_plan(
            resolved_names(work.store, self.families)
            | {
                # such topics answer by their other memories until a new summary
                "topic.unsummarized": unsummarized(work.store, topics, gone=(), why=WHY),
                "chunk.released": work.store.by_key("chunks", self.waiting_chunk_ids, ["chunk_id"]),
            }
        )


def _digested(root: Path, rows: Sequence[dict[str, str]], key: str) -> list[dict[str, str]]:
    """The rows with digests in the place of their id and the hash of their text."""
    made = (digests(root, [row[name] for row in rows]) for name in (key, "content_hash"))
    return [{**row, key: name, "content_hash": text} for row, name, text in zip(rows, *made, strict=True)]
