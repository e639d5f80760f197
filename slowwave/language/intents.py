"""The intent of a question (why, when, who, what or general), and whether the question is complex.

An intent adds to a search (why: causal chains, when: a timeline, who: people) and never takes away, so a wrong one
costs a few lines of context. Words alone decide: vectors of exemplars moved 1 of 1,287 questions (LoCoMo dev and
the worlds of `benchmarks`), and that one wrongly. Nothing here looks into the memory.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import cast, get_args

from slowwave.deferred import pattern
from slowwave.schemas.search import Intent

_TABLES: dict[str, dict[str, list[str]]] = tomllib.loads(
    (files(__package__) / "intents.toml").read_text(encoding="utf-8")
)
EXEMPLARS: dict[Intent, tuple[str, ...]] = {
    intent: tuple(_TABLES["exemplars"][intent]) for intent in get_args(Intent)
}
"""Questions of each intent, which no home was asked: the noise of a vector space is measured on them."""


def _by_intent(cues: Mapping[str, Sequence[str]]) -> re.Pattern[str]:
    """A pattern whose groups are the intents of a table of cues."""
    groups = (f"(?P<{intent}>{'|'.join(rows)})" for intent, rows in cues.items())
    return pattern(rf"\b(?:{'|'.join(groups)})\b".replace(" ", r"\s+"), re.I)


_CUES, _WEAK = _by_intent(_TABLES["cues"]), _by_intent(_TABLES["weak"])
_CHATTER = pattern(
    r"^.*\b(?:i|we|you)\s+(?:already\s+|do\s+)?know\b[^?]*?\bbut\b|"
    r"\b(?:what\s+(?:i|we)(?:['’]d)?\s+(?:\w+\s+){1,3}?to\s+know\s+is|(?:guess|know)\s+what|who\s+knows|"
    r"whatever|what['’]s\s+up|what\s+about\s+this|how\s+are\s+you|can\s+you\s+tell\s+me\s+how\s+it\s+is\s+that)\b",
    re.I | re.S | re.A,
)
_SENTENCE_END = pattern(r"(?<=[?.!])\s+|\n")
LONGEST_QUESTION = 2_000


def intent_by_words(question: str) -> Intent:
    """The intent that the first question word shows, in English or Russian; "general" where there is no such word.

    Sentences that end in a question mark go before the rest, so that a story told first does not count.
    """
    text = _CHATTER.sub(" ", question[:LONGEST_QUESTION])
    asked = [sentence for sentence in _SENTENCE_END.split(text) if "?" in sentence]
    for part in [*asked, text]:
        for cues in (_CUES, _WEAK):
            found = cues.search(part)
            if found is not None and found.lastgroup is not None:
                return cast("Intent", found.lastgroup)
    return "general"


LONG_QUESTION = 18
"""Words past which a question counts as complex."""
_COMPLEX = pattern(
    r"\b(?:and|both|versus|vs|as\s+well\s+as|compar\w+|differ(?:s|ed|ent|ence|ences)?|similar\w*|in\s+common|than|"
    r"rather|either|all|every|each|list|everything|summary|summari[sz]e|overview|history|timeline|evol\w+|over\s+time|"
    r"over\s+the\s+(?:years?|months?|weeks?)|so\s+far|trade-?offs?|pros|relat(?:e|es|ed|ionship)|"
    r"how\s+many|how\s+often|(?:has|have|did|does)\s+(?:\w+\s+){1,6}?chang\w+|chang\w+\s+(?:since|between|from)|"
    r"would|might|could|likely|ways)\b",
    re.I | re.A,
)
_VERB = r"(?:do|does|did|has|have|had|is|are|was|were|will|would|can|could|should|might)\b"
_MANY = rf"(?!{_VERB})(?!\w*(?:ss|us|is)\b)[a-z]{{3,}}s"
_LIST = pattern(
    rf"\b(?:what|which)(?:\s+(?!{_VERB})\w+){{0,3}}?\s+(?:{_MANY}|people|children)\b(?:\s+(?!{_VERB})[\w'’]+){{0,4}}?\s+{_VERB}"
    r"|\b(?:what|which|who)\s+are\b|\bwhere\s+(?:all\s+)?(?:has|have|had)\b|\b(?:what|who)\s+(?:all|else)\b"
    r"|\bhow\s+many\b(?!\s+(?:minute|hour|day|week|month|year)s\b)"
    r"|\b(?:list|name|enumerate)\s+(?:all|the|every|some)\b|\b(?:what|which)\s+(?:has|have)\b"
    r"|\bin\s+(?:what|which)\s+ways\b",
    re.I | re.A,
)


def is_complex(question: str) -> bool:
    """Return whether a question joins, compares, counts, lists, supposes or goes through time: it needs more results.

    Simple ones get depth 2 and 5 results, complex ones 4 and 20; in doubt it is complex, which costs only room.
    """
    text = question[:LONGEST_QUESTION]
    is_long = len(text.split()) > LONG_QUESTION or text.count("?") > 1 or ";" in text
    return is_long or _COMPLEX.search(text) is not None or asks_for_list(text)


def asks_for_list(question: str) -> bool:
    """Return whether a question asks for several things ("which books", "where has she been"), by its words."""
    return _LIST.search(question[:LONGEST_QUESTION]) is not None
