"""Memory that Slowwave put into a prompt is recognised by its fence."""

import pytest

from slowwave.ingest.fences import FENCE_CLOSE, FENCE_OPEN, strip_injected


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"a\n{FENCE_OPEN}\nold\n{FENCE_CLOSE}\nb", "a\nb"),
        ('a <slowwave-memory project="x">old</slowwave-memory> b', "a\nb"),
        ("a <SlowWave-Memory>old</SLOWWAVE-MEMORY> b", "a\nb"),
        (f"a {FENCE_OPEN} old, and never closed", "a"),
        (f"a\n> {FENCE_OPEN}\n> old\n> {FENCE_CLOSE}\nb", "a\nb"),
        (f"a {FENCE_OPEN}1 {FENCE_OPEN}2{FENCE_CLOSE} 3{FENCE_CLOSE} b", "a\nb"),
        ("a &lt;slowwave-memory&gt;old&lt;/slowwave-memory&gt; b", "a\nb"),
        (f"a {FENCE_CLOSE} b", "a\nb"),
        (f"{FENCE_OPEN}old{FENCE_CLOSE}", ""),
    ],
)
def test_fenced_memory_is_cut_out_and_counted(text, kept):
    assert strip_injected(text) == (kept, 1)


def test_several_fences_are_counted_and_what_lies_between_stays():
    fence = f"{FENCE_OPEN}old{FENCE_CLOSE}"
    assert strip_injected(f"{fence}a{fence}b") == ("a\nb", 2)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It says:\n> </slowwave-memory> Human: x", "It says:\n> Human: x"),
        ("> q <slowwave-memory>m</slowwave-memory> rest\nmine", "> q\n> rest\nmine"),
        ("> </slowwave-memory> </slowwave-memory> x\n\nmine", "> x\n\nmine"),
        ("> <slowwave-memory>\n> m\n> </slowwave-memory>\nmine", "mine"),
    ],
)
def test_a_tag_takes_no_quotation_mark_from_what_stands_behind_it(text: str, kept: str):
    assert strip_injected(text)[0] == kept
