"""The table of rules, rules of one's own, and `redact --check`: what would be taken, where, and never the secret."""

import hashlib
import io
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from slowwave.entrypoints.cli import app
from slowwave.errors import ConfigError
from slowwave.home.paths import open_home
from slowwave.redaction import checking
from slowwave.redaction.finding import STANDARD, find
from slowwave.redaction.own import in_force, put_in_force
from slowwave.redaction.redaction import redact
from slowwave.redaction.rules import RULES
from slowwave.settings.redaction import refuse_slow
from tests.unit.test_redaction import RANDOM

ALPHABETS = {
    "b62": RANDOM,
    "b64": RANDOM,
    "b64u": RANDOM,
    "b36": "k3v9x2m7q4w8z5t1r6",
    "hex": "9f3a7c1e5b80d246",
    "HEX": "9F3A7C1E5B80D246",
    "UP": "7KQ2ZV9XW4MT3RB8",
    "b32": "K3QZ7VXM2WTRB4PY",
    "b58": "3KqZ7vXm2WtRb4Py",
    "d": "7304918265",
}
WORDS = {"word": "kiwi-Tango7!", "b64word": "a2l3aS1UYW5nbzch", "wif": ""}


def made(example: str) -> str:
    """An example of the table with its made-up parts written out."""

    def one(match: re.Match[str]) -> str:
        name, length = match["name"], match["length"]
        if not length:
            return wallet_key() if name == "wif" else WORDS.get(name, match[0])
        return (ALPHABETS[name] * 40)[: int(length)]

    return re.sub(r"\{(?P<name>\w+):?(?P<length>\d*)\}", one, example)


def wallet_key() -> str:
    """A made-up private key in the form in which wallets import one."""
    raw = b"\x80" + bytes(range(32))
    raw += hashlib.sha256(hashlib.sha256(raw).digest()).digest()[:4]
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        text = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[rest] + text
    return text


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_finds_its_own_example(rule):
    text = made(rule.example)
    assert (
        list(rule.spans(text, text.lower(), [hint for hint in rule.hints if hint in text.lower()])) != []
    ), text
    assert redact(text)[1], text


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_says_what_it_is_for(rule):
    assert rule.what
    assert rule.why
    assert rule.where
    assert rule.hints


def test_what_find_tells_is_what_redact_takes():
    text = "the password is kiwi-Tango7! and AWS_SECRET_ACCESS_KEY=" + RANDOM[:40]
    spans = find(text)
    assert [text[span.start : span.end] for span in spans] == ["kiwi-Tango7!", RANDOM[:40]]
    left = text
    for span in reversed(spans):
        left = f"{left[: span.start]}[redacted:{span.kind}]{left[span.end :]}"
    assert redact(text)[0] == left


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


def test_a_bad_pattern_in_the_settings_ends_in_one_line(tmp_path):
    (tmp_path / "slowwave.toml").write_text("[redaction.rules]\nbadge = '(a+)+'\n")
    with pytest.raises(ConfigError, match="redaction") as refused:
        open_home(tmp_path)
    assert "\n" not in str(refused.value)


def run(*words: str, given: str | None = None):
    return CliRunner().invoke(app, ["redact", *words], input=given)


def test_check_shows_the_place_and_never_the_secret(tmp_path):
    path = tmp_path / "notes.md"
    path.write_text(f"# notes\n\nthe password is kiwi-Tango7!, the key is ghp_{RANDOM[:36]}.\n")
    done = run("--check", str(path))
    assert done.exit_code == 1
    assert f"{path}:3:17: password (label-said)" in done.stdout
    assert "the password is [redacted:password], the key is [redacted:github]" in done.stdout
    assert "2 secrets: 1 github, 1 password" in done.stdout
    assert "kiwi" not in done.stdout
    assert RANDOM[:12] not in done.stdout


def test_check_of_clean_input_says_so_and_ends_with_0():
    done = run("--check", "-", given="nothing to see, sha256:" + "ab12" * 16)
    assert (done.exit_code, done.stdout) == (0, "No secrets found.\n")


def test_check_as_json_is_one_document():
    done = run("--check", "--json", "-", given="PIN: 4821\n")
    told = json.loads(done.stdout)
    assert told["found"] == {"pin": 1}
    assert [(place["line"], place["column"]) for place in told["places"]] == [(1, 6)]


@pytest.mark.parametrize(
    ("words", "code"), [(("--check", "nowhere.txt"), 66), (("--check", "."), 65), (("a.txt",), 2)]
)
def test_bad_input_of_check_ends_in_an_error_and_no_traceback(words, code):
    done = run(*words)
    assert done.exit_code == code
    assert "Traceback" not in done.output


BLOCK, OVERLAP = 16_384, 4_096
"""Smaller than in use, so that a few of them are read quickly."""


@pytest.mark.parametrize("before", [0, BLOCK - 9, BLOCK, BLOCK - OVERLAP - 50, 2 * BLOCK - 5])
def test_a_secret_is_found_once_wherever_a_block_ends(before, monkeypatch):
    monkeypatch.setattr(checking, "BLOCK", BLOCK)
    monkeypatch.setattr(checking, "OVERLAP", OVERLAP)
    filler = "just words here\n" * (before // 16) + "." * (before % 16)
    raw = (filler + "\nthe password is kiwi-Tango7! ok\n" + "more words\n" * 500).encode()
    found = list(checking.check_stream(io.BytesIO(raw), "-", STANDARD))
    assert [(place.line, place.column, place.kind) for place in found] == [
        (filler.count("\n") + 2, 17, "password")
    ]


def test_the_words_of_seed_phrases_are_the_whole_list():
    words = (Path(__file__).parents[2] / "slowwave/redaction/seed_words.txt").read_text().split()
    assert len(words) == len(set(words)) == 2048
    assert words == sorted(words)
