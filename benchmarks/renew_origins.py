"""Give the memories of a kept journal the origins of today's rules: `renew_origins.py WORLD ANSWERS`.

An origin is decided when a memory is extracted, and is part of the recorded event. ANSWERS is a folder of a recorded
night (`requests/ID.md`, `answers/ID.json`): its answers are read again, by the turns that were asked about, and each
memory of the journal gets the origin that it has now. Everything else of the journal stays as it was.
"""

import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.environment import hide_settings  # noqa: E402
from benchmarks.holds_world import World, read_world  # noqa: E402
from benchmarks.replay import MISS_CODE, Body, completion, failure, serving  # noqa: E402
from slowwave.home.workspace import open_workspace  # noqa: E402
from slowwave.store import open_store  # noqa: E402

SETTINGS = """\
[llm]
provider = "openai"
base_url = "{url}"
model = "recorded"
api_key = "none"
[embedding]
provider = "wordllama"
[readers]
ahead_hours = 8784
"""


def main(world: Path, answers: Path) -> int:
    """Read the answers again and write the journal; the exit code."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ):
        hide_settings()
        os.environ["PREFECT_HOME"] = str(Path(folder) / "prefect")
        origins = extracted_origins(read_world(world), answers, Path(folder) / "home")
    changed = [renew(path, origins) for path in sorted((world / "journal").rglob("*.jsonl.zst"))]
    print(f"{sum(changed)} of {len(origins)} memories have another origin now")
    return 0


def extracted_origins(world: World, answers: Path, home: Path) -> dict[str, str]:
    """The origin of each memory that the recorded answers give, by its id."""
    from flows.extract import extract
    from flows.ingest import ingest

    known = dict(recorded(answers))

    def respond(body: Body, _: str) -> tuple[int, Body]:
        turns = turns_of(str(body["messages"][-1]["content"]))
        if turns not in known:
            return HTTPStatus.BAD_REQUEST, failure("these turns are not in the recording", MISS_CODE)
        return HTTPStatus.OK, completion({"request": "0" * 64, "answer": known[turns]}, body)

    home.mkdir()
    with serving(respond, port=0) as server:
        (home / "slowwave.toml").write_text(SETTINGS.format(url=server.base_url), encoding="utf-8")
        with open_workspace(home, clock=lambda: world.now):
            ingest.fn(home=str(home), sources=[str(source) for source in world.sources])
            extract.fn(home=str(home))
    return dict(open_store(home / "store").rows("cells", ["cell_id", "origin"]).iter_rows())


def recorded(answers: Path) -> Iterator[tuple[str, Any]]:
    """The turns of each recorded page, and what the extractor said of them."""
    for request in (answers / "requests").glob("*.md"):
        text, answer = request.read_text(encoding="utf-8"), answers / "answers" / f"{request.stem}.json"
        if (
            "## Turns" in text
            and answer.exists()
            and "cells" in (said := json.loads(answer.read_text("utf-8")))
        ):
            yield turns_of(text[text.index("## user") :]), said


def turns_of(page: str) -> str:
    """The words of the turns of a page: what was known before them may have changed since."""
    return re.sub(r"\W+", " ", page.partition("## Turns")[2].partition("## Your answer")[0])


def renew(path: Path, origins: dict[str, str]) -> int:
    """Write one segment anew; how many of its memories have another origin."""
    with pa.input_stream(path, compression="zstd") as segment:
        header, *lines = segment.read().decode().splitlines()
    events = [json.loads(line) for line in lines]
    changed = 0
    for number, event in enumerate(events):
        payload = event["payload"]
        origin = origins.get(payload.get("cell_id", ""), "") if event["kind"] == "cell.extracted" else ""
        if origin and origin != payload["origin"]:
            lines[number] = lines[number].replace(f'"origin":"{payload["origin"]}"', f'"origin":"{origin}"')
            changed += 1
    body = "".join(f"{line}\n" for line in lines).encode()
    named = json.dumps({**json.loads(header), "sha256": hashlib.sha256(body).hexdigest()})
    if changed:
        with pa.output_stream(path, compression="zstd") as segment:
            segment.write(named.encode() + b"\n" + body)
    return changed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
