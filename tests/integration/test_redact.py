"""`run redact` over a small home: what an older program stored goes, and what today's stores is known again."""

from pathlib import Path

from flows.redact import redact
from slowwave import Memory
from slowwave.rewrite.byte_scan import files_with
from tests.rows import NOW
from tests.scripted_model import write_settings

WORD = "brine" + "42kelp"


def test_a_statement_of_old_leaves_a_home_and_a_second_run_finds_nothing(tmp_path: Path, monkeypatch) -> None:
    write_settings(tmp_path / "home", embedding={"provider": "none"})
    home = tmp_path / "home"
    with monkeypatch.context() as patched:
        patched.setattr("slowwave.ingest.statements.redact", lambda text: (text, {}))
        Memory(home).remember(f"The password of the gate is {WORD}.", now=NOW)
        Memory(home).remember("Invoices are due on Friday.", now=NOW)
    report = redact.fn(home=str(home))
    assert report.counts == {"secrets of kind password": 2}
    assert files_with(home, [WORD]) == {}
    assert redact.fn(home=str(home)).is_skipped
    again = Memory(home).remember(f"The password of the gate is {WORD}.", now=NOW)
    assert "remembered today already" in again.notes[0]


def test_logs_are_cleaned_wherever_the_home_lies(tmp_path: Path) -> None:
    home = tmp_path / "store" / "home"  # a folder above the home that is named like one within it
    write_settings(home, embedding={"provider": "none"})
    Memory(home).remember("Invoices are due on Friday.", now=NOW)
    log = home / "logs" / "own.log"
    log.parent.mkdir()
    log.write_text(f"begin\npassword={WORD}\nend\n", encoding="utf-8")
    report = redact.fn(home=str(home))
    assert any("logs: 1" in note for note in report.notes), report.notes
    assert log.read_text(encoding="utf-8") == "begin\npassword=[redacted:password]\nend\n"
    assert files_with(home, [WORD]) == {}
