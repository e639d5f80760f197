"""A home with what many owners say, and the rule by which one may see it, written a second time."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from slowwave.home.workspace import open_workspace
from slowwave.journal.catalogue import encode
from tests.rows import NOW, events, rows

Owner = tuple[str, str, str]
"""User, project and scope."""

ProjectFrom = Literal["repository", "setting"]
Part = Mapping[str, Sequence[dict[str, object]]]
"""What one owner has: rows of `turns`, `cells` and `topics`."""


def visible(
    owner: Owner, user: str, project: str, *, asked: str | None = None, project_from: str = "setting"
) -> bool:
    """Whether this user, whose home has this project, may see a row of that owner: the rule, written a second time."""
    theirs, their_project, scope = owner
    if scope == "system":
        return True
    is_seen = scope == "project-shared" or theirs == user
    if project_from == "setting":
        return is_seen and their_project == project and asked in (None, project)
    if asked is None:
        return theirs == user or (scope == "project-shared" and their_project == project)
    return is_seen and their_project in (project, asked)


def fill(home: Path, parts: Sequence[Part], *, cell_count: int) -> None:
    """Commit what all owners have; each topic has a summary and so many memories."""
    topics = [topic for part in parts for topic in part["topics"]]
    summaries = [
        {"topic_id": topic["topic_id"], "summary": f"The port of staging, {topic['name']}.", "cell_ids": []}
        for topic in topics
    ]
    counts = [
        {"topic_id": topic["topic_id"], "cell_count": cell_count, "unsummarized_count": 0} for topic in topics
    ]
    with open_workspace(home) as workspace:
        recorded = encode("turn.recorded", rows("turns", *(turn for part in parts for turn in part["turns"])))
        extracted = encode(
            "cell.extracted", rows("cells", *(cell for part in parts for cell in part["cells"]))
        )
        of_topics = [
            events("topic.opened", *topics),
            events("topic.counted", *counts),
            events("topic.summarized", *summaries),
        ]
        workspace.commit(pl.concat([recorded, extracted, *of_topics]), now=NOW)
        workspace.refresh_vectors()
