"""Plain English: private words have left what users read, and become fewer in the rest.

The parts of `docs/` between `<!-- name -->` and `<!-- end -->` are made from the code and count there.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator

import click
import pytest

from slowwave.interfaces.cli.program import program
from tests.conventions.source import LIBRARY, ROOT, calls, dotted, modules

PRIVATE = {
    r"tells?|told|telling|untold": "show, state, report, list",
    r"stands?|stood|standing": "is, remains, is active",
    r"besides?": "next to, during, as well as",
    r"ma(?:kes?|de) way": "is replaced, is retracted",
    r"whose word|(?:person|assistant|user|agent|tool)'?s (?:own )?word": "statement, origin, source",
    r"(?:what|whichever|who|longer|still|now|value|memory) holds?": "is current, is true, is active",
    r"whose matter|open matters|the matter|of (?:one|other|this) matters?": "property, subject",
    r"faces?": "interfaces",
    r"mend(?:s|ed|ing)?": "repair, fix",
    r"anew": "again",
    r"what (?:is|was) asked": "the question",
    r"passed by": "skipped",
    r"t(?:akes?|ook|aken|aking) in": "ingest, read",
    r"in the place of": "instead of, replaced by",
    r"of its make": "of the same form",
    r"parted": "split",
    r"shall": "must, will",
    r"rooms?": "package",
    r"lanes?": "executor",
    r"harness(?:es)?": "coding agent",
}
"""Words that a reader of this field would stumble over, as patterns of whole words, with what to write instead."""

_WORDS = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in PRIVATE), re.IGNORECASE)

KEPT = re.compile(
    r"make room|has no room|\bstanding wish(?:es)?\b|stands? for\b|stand-in|stands? in for|test harness|outstanding"
)
"""Ordinary uses of these words."""

PENDING = ("slowwave/interfaces/http/runs.py",)
"""Files that are not rewritten yet: they count with the rest. Whoever rewrites one takes it out of this list."""

MOST_IN_THE_REST = 2_005
"""Docstrings, comments, texts and names of the library, and pending pages; lower it with every rewrite."""


def found_in(text: str) -> list[str]:
    """The private words of a text, each with what surrounds it."""
    text = _without_kept(text)
    return [
        " ".join(text[max(0, found.start() - 30) : found.end() + 30].split())
        for found in _WORDS.finditer(text)
    ]


def _without_kept(text: str) -> str:
    return KEPT.sub(lambda kept: "_" * len(kept[0]), text)


def pages() -> Iterator[tuple[str, str]]:
    """The pages that users read, by path, without what is made from the code."""
    paths = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md")]
    for path in [*paths, *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"<!-- output of .*?<!-- end -->", "", text, flags=re.DOTALL)
        yield (
            path.relative_to(ROOT).as_posix(),
            re.sub(r"<!-- \w+ -->.*?<!-- end -->", "", text, flags=re.DOTALL),
        )


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """The help of a command, of its parameters, and of the commands below it."""
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    for child, below in getattr(command, "commands", {}).items():
        yield from helps(below, f"{name} {child}")


def messages() -> Iterator[tuple[str, str]]:
    """The texts of errors that `slowwave/interfaces` raises, and of the lines that its command line fails with."""
    for module in modules("slowwave/interfaces"):
        if module.path in PENDING:
            continue
        raised = [node.exc for node in module.nodes if isinstance(node, ast.Raise) and node.exc is not None]
        failed = [call for call in calls(module) if dotted(call.func).endswith("fail")]
        for node in [*raised, *failed]:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield module.at(part), part.value


def private_words(texts: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """The texts that have private words, by their name."""
    return {name: words for name, text in texts if (words := found_in(text))}


def test_the_pages_are_written_in_plain_words():
    assert private_words((name, text) for name, text in pages() if name not in PENDING) == {}


def test_the_help_is_written_in_plain_words():
    assert private_words(helps(program, "slowwave")) == {}


def test_error_messages_of_the_interfaces_are_written_in_plain_words():
    assert private_words(messages()) == {}


def test_private_words_become_fewer_in_the_rest():
    texts = [module.text for module in modules(*LIBRARY)]
    texts += [text for name, text in pages() if name in PENDING]
    words = [found[0] for text in texts for found in _WORDS.finditer(_without_kept(text))]
    count = len(words)
    assert count <= MOST_IN_THE_REST, f"{count}: {Counter(map(str.lower, words)).most_common(5)}"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("What was told holds.", 1),
        ("It stands for a class; a standing wish.", 0),
        ("It makes way beside it.", 2),
    ],
)
def test_the_check_of_words_can_fail(text: str, count: int):
    assert len(found_in(text)) == count
