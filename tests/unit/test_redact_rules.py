"""Rules of one's own, and `redact --check`: what would be taken, where, and never the secret."""

import pytest
from click.testing import CliRunner

from slowwave.errors import ConfigError
from slowwave.home.paths import open_home
from slowwave.ingest.redact import redact
from slowwave.ingest.redact.table import STANDARD, in_force, put_in_force, rules_id, rules_with
from slowwave.interfaces.cli.program import program
from slowwave.settings.redaction import refuse_slow
from tests.unit.test_redact import RANDOM


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("(a+)+b", "without a bound"),
        ("a*b", "without a bound"),
        ("(?:a{1,9}){1,9}b", "inside a repetition"),
        ("a{0,200}a{0,200}b", "lengths at each place"),
        ("a*", "empty text"),
        ("(", "not a regular expression"),
    ],
)
def test_a_pattern_that_could_take_long_is_refused_in_one_line(pattern, told):
    with pytest.raises(ValueError, match=told) as refused:
        refuse_slow(pattern)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "pattern", [r"EMP-\d{6}", r"badge[ :]{1,3}(?P<secret>[A-Z]{2}\d{4,})", "(?:ab|cd)-[a-z]+"]
)
def test_a_linear_pattern_is_let_in(pattern):
    refuse_slow(pattern)


def test_own_rules_labels_and_exceptions_come_from_the_home(tmp_path):
    (tmp_path / "slowwave.toml").write_text(
        "[redaction]\nlabels = ['sesam']\nkeep = ['kiwi.{0,20}']\n[redaction.rules]\nbadge = 'EMP-(?P<secret>\\d{6})'\n"
    )
    text = "EMP-123456, the sesam is delta44mango, the password is kiwi-Tango7!"
    try:
        open_home(tmp_path)
        assert (
            redact(text)[0]
            == "EMP-[redacted:badge], the sesam is [redacted:password], the password is kiwi-Tango7!"
        )
    finally:
        put_in_force(STANDARD)
    assert redact(text)[0].startswith("EMP-123456, the sesam is delta44mango")
    assert in_force() is STANDARD


def test_other_rules_have_another_id_so_that_a_sweep_falls_due():
    before = rules_id()
    try:
        put_in_force(rules_with({}, ["sesam"], []))
        assert rules_id() != before
    finally:
        put_in_force(STANDARD)
    assert rules_id() == before


def test_a_bad_pattern_in_the_settings_ends_in_one_line(tmp_path):
    (tmp_path / "slowwave.toml").write_text("[redaction.rules]\nbadge = '(a+)+'\n")
    with pytest.raises(ConfigError, match="redaction") as refused:
        open_home(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_dry_run_of_ingest_shows_the_place_and_never_the_secret(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text(f"# notes\n\nthe password is kiwi-Tango7!, the key is ghp_{RANDOM[:36]}.\n")
    done = CliRunner().invoke(program, ["ingest", "--dry-run", str(path), "--home", str(tmp_path / "home")])
    assert done.exit_code == 1, done.output
    assert f"{path}:3:17: password (label-said)" in done.stdout
    assert "the password is [redacted:password], the key is [redacted:github]" in done.stdout
    assert "Secrets that would be redacted: 2 (1 github, 1 password)" in done.stdout
    assert "kiwi" not in done.stdout
    assert RANDOM[:12] not in done.stdout


def test_a_dry_run_of_clean_files_says_so_and_ends_with_0(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text("nothing to see, sha256:" + "ab12" * 16)
    done = CliRunner().invoke(program, ["ingest", "--dry-run", str(path), "--home", str(tmp_path / "home")])
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "No secrets found.")
