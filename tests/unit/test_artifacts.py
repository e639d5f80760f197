"""Commits, pull requests, decision records and files, as memories and talk name them."""

import polars as pl
import pytest

from slowwave.language.artifacts import artifact_kind, artifact_reference, artifacts_in
from tasks.link.entities import artifacts_of
from tests.rows import row, rows


@pytest.mark.parametrize(
    ("artifact", "kind", "reference"),
    [
        ("commit:4f1c9ab", "commit", "4f1c9ab"),
        ("PR#12", "pr", "12"),
        ("adr: 7", "adr", "7"),
        ("file:docs/a b.md", "file", "docs/a b.md"),
        ("src/app.py", None, None),
        ("file:", None, None),
        ("profile:x", None, None),
    ],
)
def test_an_artifact_has_a_kind_and_a_reference_or_neither(
    artifact: str, kind: str | None, reference: str | None
):
    frame = pl.DataFrame({"artifact": [artifact]})
    found = frame.select(artifact_kind(pl.col("artifact")), r=artifact_reference(pl.col("artifact")))
    assert found.row(0) == (kind, reference)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Done, commit 4f1c9ab, and committed as `DEADBEEF1`.", ["commit:4f1c9ab", "commit:deadbeef1"]),
        ("see PR #214 and https://forge.example/x/pull/33", ["pr:214", "pr:33"]),
        ("ADR-7 says so", ["adr:7"]),
        ("I changed ./src/app.py and config.toml.", ["file:config.toml", "file:src/app.py"]),
        ("read https://example.org/guide.html", []),
        ("clone git@forge.example:team/rowing.git and read a/b.py", ["file:a/b.py"]),
        ("the port is 5433, version 1.2.3, the committee of 1234567 people", []),
        ("", []),
        (None, []),
    ],
)
def test_talk_names_artifacts(text: str | None, found: list[str]):
    frame = pl.DataFrame({"text": [text]}, schema={"text": pl.String})
    assert frame.select(artifacts_in(pl.col("text"))).to_series().to_list() == [found]


def test_the_extractor_names_artifacts_and_raw_text_shows_them_by_their_forms() -> None:
    text = "See PR #214 and ADR-12; api/auth/tokens.py, not https://x.org/a/b.py nor and/or."
    named = ["file:a.py", "pr#7", "else"]
    cells = rows(
        "cells",
        row("cells", "raw", content=text, prompt_version="raw", artifacts=[]),
        row("cells", "read", content=text, prompt_version="extract_cells.v1", artifacts=named),
    )
    found = artifacts_of(cells).select("cell_id", "artifact_type", "reference").rows()
    assert sorted(found) == [
        ("raw", "adr", "12"), ("raw", "file", "api/auth/tokens.py"), ("raw", "pr", "214"),
        ("read", "file", "a.py"), ("read", "pr", "7"),
    ]  # fmt: skip
