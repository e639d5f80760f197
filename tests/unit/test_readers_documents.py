"""Markdown and text files as sections."""

import os
from datetime import UTC, datetime

import pytest

from slowwave.errors import InputError
from slowwave.ingest.formats.documents import SECTION_WORDS
from slowwave.schemas.identity import stable_id
from tests.reading import read_path

MARKDOWN = """\
Before any heading.

# Guide
## Setup ##
Install it.

```
# no heading
```

#### Deep
stays here

## Use
Run it.

# Other
Below.
"""


def write(folder, text, name="notes.md"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_markdown_is_cut_at_headings_and_each_section_keeps_its_path(tmp_path):
    path = write(tmp_path, MARKDOWN)
    reading = read_path(path)
    assert reading.turns["content"].to_list() == [
        "Before any heading.",
        "Guide > Setup\n\nInstall it.\n\n```\n# no heading\n```\n\n#### Deep\nstays here",
        "Guide > Use\n\nRun it.",
        "Other\n\nBelow.",
    ]
    turn = reading.turns.row(0, named=True)
    assert (turn["role"], turn["origin"], turn["source_type"]) == ("document", "untrusted", "file")
    assert turn["session_id"] == stable_id("file", path.parent.name, path.name)
    assert turn["turn_id"] == stable_id("turn", turn["session_id"], turn["content_hash"])
    assert reading.turns["turn_index"].to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("# A\n- step\n\n  # in a list\n\n> # quoted", ["A\n\n- step\n\n  # in a list\n\n> # quoted"]),
        ("# A\n````\n```\n# code\n````\ntext", ["A\n\n````\n```\n# code\n````\ntext"]),
        ("# A\n- x\n  ```\n  # code\n\n\n  more\n  ```", ["A\n\n- x\n  ```\n  # code\n\n\n  more\n  ```"]),
        ("# A\none\ntwo\n---\nthree", ["A\n\none\ntwo\n---\nthree"]),
        ("    # indented\n\n#\n\ntext", ["    # indented\n\n#\n\ntext".strip()]),
    ],
)
def test_a_heading_is_one_only_where_markdown_has_it_at_the_top(tmp_path, text, sections):
    assert read_path(write(tmp_path, text)).turns["content"].to_list() == sections


def test_plain_text_is_gathered_by_paragraphs_and_loses_no_word(tmp_path):
    paragraphs = [f"w{n} " * 150 for n in range(7)] + ["long " * 3000]
    reading = read_path(write(tmp_path, "\n\n".join(paragraphs), name="notes.txt"))
    sizes = [len(text.split()) for text in reading.turns["content"]]
    assert max(sizes) <= SECTION_WORDS
    words = {word for text in reading.turns["content"] for word in text.split()}
    assert words == {*(f"w{n}" for n in range(7)), "long"}


def test_a_section_that_is_too_long_is_cut_between_paragraphs_under_its_heading(tmp_path):
    reading = read_path(write(tmp_path, "# Long\n" + "\n\n".join(f"p{n} " * 150 for n in range(4))))
    assert [text.split("\n")[0] for text in reading.turns["content"]] == ["Long", "Long"]


def test_a_repeated_section_is_dropped_and_counted(tmp_path):
    reading = read_path(write(tmp_path, "# A\nsame\n# B\nother\n# A\nsame\n"))
    assert reading.turns.height == 2
    assert reading.skipped == {"repeated message": 1}


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("date: 2026-06-02", datetime(2026, 6, 2, tzinfo=UTC)),
        ("date: '2026-06-02T08:00:00Z' # when", datetime(2026, 6, 2, 8, tzinfo=UTC)),
        ("date: soon", datetime.fromtimestamp(1_700_000_000, UTC)),
        ("title: x", datetime.fromtimestamp(1_700_000_000, UTC)),
    ],
)
def test_the_time_is_the_date_of_the_front_matter_else_that_of_the_file(tmp_path, line, time):
    path = write(tmp_path, f"---\n{line}\n---\ntext\n")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    reading = read_path(path)
    assert reading.turns["content"].to_list() == ["text"]
    assert reading.turns["event_time"][0] == time
    assert reading.skipped == {"front matter": 1}


@pytest.mark.parametrize("content", [b"\x00text", b"\x89PNG\r\n\x1a\n\x00\x00", bytes(range(128, 256)) * 4])
def test_what_is_not_text_is_refused(tmp_path, content):
    with pytest.raises(InputError, match=r"notes\.md.* is not text"):
        read_path(write(tmp_path, content))


def test_a_private_key_across_paragraphs_and_a_fence_across_headings_are_cut_whole(tmp_path):
    body = "aB3dE5gH7jK9mN2pQ4sT6vW8xY1zA3cD5eF7gH9jK2mN4pQ6\n"
    head, foot = (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n",
        "-----END RSA PRIVATE KEY-----",
    )
    key = head + body * 300 + foot
    text = f"# A\n{key}\n\n<slowwave-memory>\n# Old\nold\n</slowwave-memory>\n\n# B\nnew\n"
    reading = read_path(write(tmp_path, text))
    assert reading.turns["content"].to_list() == ["A\n\n[redacted:private-key]", "B\n\nnew"]
    assert reading.redacted == {"private-key": 1}
    assert reading.skipped == {"injected memory": 1}
