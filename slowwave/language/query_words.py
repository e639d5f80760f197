"""What full text looks for in a question."""

import re

_STOP_TEXT = (
    "a about after again all am an and any are as at be because been before being but by can could did do "
    "does doing don for from had has have having he her here hers him his how i if in into is it its just "
    "me more most my no nor not now of off on once only or other our ours out over own same she should so "
    "some such than that the their theirs them then there these they this those through to too under "
    "until up very was we were what when where which while who whom why will with would you your yours s "
    "t re ve ll d m"
)
STOP_WORDS = frozenset(_STOP_TEXT.split(" "))
"""Words that stand in nearly every text: their lists are the longest to read and tell the least."""

_NO_THING_TEXT = (
    "happen happens happened happening go goes going went new news say says said talk talks talked discuss discussed "
    "tell told learn learned learnt know known everything anything something thing things remember recall us"
)
_NO_THING = STOP_WORDS.union(_NO_THING_TEXT.split(" "))
"""Words of a question for whatever there was."""

OF_THE_PRESENT = frozenset({"current", "currently", "latest", "present", "presently", "today", "still"})
"""Words that ask for the value that holds, which is what is answered anyway."""

QUERY_WORDS = 64
"""Different words of a question that full text looks for."""

_WORD = re.compile(r"\w+")


def telling_words(text: str, *, most: int) -> str:
    """The first `most` different words of a question that are no stop words, in order, lower case.

    A question of nothing but stop words ("who am I?") keeps them all; "" has no words at all.
    """
    words = list(dict.fromkeys(_WORD.findall(text.lower())))
    telling = [word for word in words if word not in STOP_WORDS]
    return " ".join((telling or words)[:most])


def plain_words(text: str) -> set[str]:
    """The words of a text, lower case."""
    return set(_WORD.findall(text.lower()))


def names_a_thing(text: str) -> bool:
    """Whether a question asks for something, and not for whatever there was ("what happened?")."""
    return not plain_words(text) <= _NO_THING
