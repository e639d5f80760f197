"""Coverage of a recorded night over a conversation of LoCoMo, where both lie beside or in this checkout.

LoCoMo's licence lets neither its texts nor a night's answers about them into the repository. A recording is made by
`benchmarks/answers.py night SET INDEX --record data/nights/locomo_dev-INDEX.jsonl` (benchmarks/README.md);
`DEV_NIGHTS` names another folder for it, `DEV_SETS` another one for the question set.
"""

import json
import os
from pathlib import Path
from unittest.mock import patch

import pytest

from benchmarks import answers

ROOT = Path(__file__).resolve().parents[2]
SETS = Path(os.environ.get("DEV_SETS", ROOT.parent / "shared" / "data" / "locomo"))
NIGHTS = Path(os.environ.get("DEV_NIGHTS", ROOT / "data" / "nights"))
RECORDINGS = sorted(NIGHTS.glob("*-*.jsonl")) if SETS.is_dir() else []

LEAST = {500: 0.50, 1_000: 0.68, 2_000: 0.75, 4_000: 0.81}
"""Coverage of context before pages were about the question, on a conversation that nobody had tuned to."""

MOST_TOKENS_A_TURN = 1_350
"""Tokens of the same night."""

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not RECORDINGS, reason=f"no recorded night in {NIGHTS}, or no question set in {SETS}"),
]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_night_covers_the_evidence_at_its_price(recording, tmp_path, capsys, record_property):
    name, index = recording.stem.rsplit("-", 1)
    audit = SETS / "audit_errors_dev.json"
    folder = str(tmp_path / "night")
    with patch.dict(os.environ):
        night = ["night", str(SETS / f"{name}.json"), index, "--folder", folder, "--replay", str(recording)]
        assert answers.main([*night, "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        with_audit = ["--audit", str(audit)] if audit.is_file() else []
        assert answers.main(["coverage", folder, *with_audit, "--json"]) == 0
        lines = json.loads(capsys.readouterr().out)["coverage"]
    shown = {
        line["budget_tokens"]: line["coverage"] for line in lines if line["way"] in ("context", "memories")
    }
    record_property("coverage", shown)
    record_property("tokens_a_turn", report["prompts"]["all"]["tokens_a_turn"])
    assert report["prompts"]["all"]["tokens_a_turn"] <= MOST_TOKENS_A_TURN
    assert shown[None] >= 0.95
    assert {budget: share for budget, share in shown.items() if budget and share < LEAST[budget]} == {}
