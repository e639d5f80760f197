"""`make run` and `make demo`: the sample night with recorded answers, and what is shown of it."""

import os
import shutil
from pathlib import Path

import pytest

from benchmarks.demo import QUESTIONS, SAMPLES, run_demo
from slowwave import Memory
from slowwave.errors import ConfigError, NotFoundError
from slowwave.settings.tree import load_settings


def samples_in(folder: Path, *, recording: str | None) -> Path:
    """Samples of one conversation, with a recording beside them."""
    for name in ("claude_code", "notes"):
        (folder / "samples" / name).mkdir(parents=True)
    shutil.copytree(SAMPLES / "chat", folder / "samples" / "chat")
    if recording is not None:
        (folder / "recording").mkdir()
        (folder / "recording" / "answers.jsonl").write_text(recording)
    return folder / "samples"


def test_without_a_recording_no_memory_is_made(tmp_path):
    with pytest.raises(NotFoundError, match="recording"):
        run_demo(tmp_path / "home", samples=samples_in(tmp_path, recording=None))
    assert not (tmp_path / "home").exists()


def test_a_recording_that_no_longer_fits_says_how_to_record_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("SLOWWAVE_LLM__MODEL", "mine")
    before = {name: value for name, value in os.environ.items() if name.startswith("SLOWWAVE_")}
    with pytest.raises(ConfigError, match="Record anew"):
        run_demo(tmp_path / "home", samples=samples_in(tmp_path, recording=""))
    assert {name: os.environ[name] for name in os.environ if name.startswith("SLOWWAVE_")} == before


@pytest.mark.nights
def test_a_run_says_that_its_answers_are_recorded_shows_the_summary_first_and_leaves_its_memory(
    tmp_path, capsys
):
    home = tmp_path / "home"
    home.mkdir()
    (home / "slowwave.toml").write_text("left over from a run that was stopped")
    run_demo(home)
    lines = capsys.readouterr().out.splitlines()
    assert "recorded answers" in lines[0]
    asked = next(number for number, line in enumerate(lines) if QUESTIONS[0] in line)
    assert lines[asked + 1].startswith("Found ")
    assert "180 requests per minute" in lines[asked + 2], "the current value leads"
    labels = [line for line in lines[asked + 1 :] if line.startswith("--- ")]
    assert labels[0].startswith("--- Topic Summary: ")
    assert labels[1].startswith("--- Memory [decision] ")
    assert [line.split(":")[0] for line in lines[-3:]] == [
        "Explore this memory",
        "Your own conversations",
        "Your own model",
    ]
    assert load_settings(home).llm.provider == "none", "the recording's server is gone"
    with Memory(home) as memory:
        assert memory.search("why do we use JWT").cells
