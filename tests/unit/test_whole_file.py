"""Files that are read whole: what stands in their place is told, and nothing is waited for."""

import os
from pathlib import Path

import pytest

from slowwave.errors import ConfigError
from slowwave.journal.segments import Journal
from slowwave.settings.tree import load_settings
from slowwave.store.layout import POINTER, pointed_at


def test_a_pipe_in_the_place_of_a_file_is_told_and_not_waited_for(tmp_path: Path):
    for name in (POINTER, "slowwave.toml", "2026/11/23/01M8348P1D80Y0AYE5EDEK10XC.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match="it is a pipe"):
        pointed_at(tmp_path)
    with pytest.raises(ConfigError, match=r"cannot be read \(it is a pipe\)"):
        load_settings(tmp_path)
    journal = Journal(tmp_path)
    problems = [*journal.listing()[1], *journal.read(journal.segment_ids()).problems]
    assert any("it is a pipe" in problem.reason for problem in problems), problems
