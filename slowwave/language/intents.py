"""The intent of a question (why, when, who, what or general), and whether the question is complex.

An intent adds to a search (why: causal chains, when: a timeline, who: people) and never takes away, so a wrong one
costs a few lines of context. With an embedder the nearest of `EXEMPLARS` decide where they are sure, else
keywords. Nothing here looks into the memory.
"""

import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from slowwave.deferred import pattern
from slowwave.errors import ContractError
from slowwave.schemas.search import Intent

_EXEMPLAR_FILE = files(__package__) / "exemplars.toml"
_QUESTIONS: dict[str, list[str]] = tomllib.loads(_EXEMPLAR_FILE.read_text(encoding="utf-8"))
EXEMPLARS: dict[Intent, tuple[str, ...]] = {intent: tuple(_QUESTIONS[intent]) for intent in get_args(Intent)}
"""Questions of each intent, to which a question is compared by its vector."""

_PERSON = (
    r"(?:person|people|man|woman|colleague|co-?worker|friend|relative|teammate|team\s+member|customer|client|"
    r"engineer|developer|maintainer|reviewer|manager|author|doctor|teacher|neighbou?r)s?"
)
_TIME = (
    r"(?:date|day|time|hour|week|month|year|season|quarter|century|decade|point)(?=['’]s\b|\s*(?:$|[?.,!])|\s+(?:did|do|"
    r"does|was|were|is|are|will|would|has|have|had|can|could|should|of\s+the|in|on|for|we|i|you|he|she|they|it|the|to|"
    r"that|this|my|our)\b)"
)
_AFTER_WHEN = (
    r"(?:['’]s|['’]d)?\s*(?:$|[?.!,]|(?:did|was|were|is|are|am|do|does|will|would|should|shall|can|could|has|have|"
    r"had|must|might|exactly|else|precisely|approximately|roughly|about|in|on|the\s+(?:first|last)\s+time)\b)"
)
_CUES = pattern(
    r"\b(?:"
    r"(?P<why>why|how\s+come|(?:what|which)\s+(?:else\s+|exactly\s+|has\s+|have\s+|originally\s+|really\s+)?"
    r"(?:made|makes|making|motivat\w+|caus(?:e|es|ed|ing)(?!\s+(?:has|have|did|does|do|is|are)\b)|"
    r"led|leads|prompt(?:s|ed)|inspir\w+|drove|drives|"
    r"triggered|convinced|persuaded|brought\s+about)\b|"
    r"(?:what|which)(?:['’]?s|\s+(?:is|are|was|were|could\s+be|might\s+be))\s+"
    r"(?:\w+['’]s?\s+|(?:the|his|her|their|our|my|your)\s+)?(?:main\s+|real\s+)?"
    r"(?:reasons?|causes?|motivations?|motives?|rationale|thinking\s+behind|reasoning)\b|"
    r"(?:for\s+)?(?:what|which)\s+reasons?|what\s+for\b)"
    rf"|(?P<when>when(?={_AFTER_WHEN})|(?:what|which)\s+(?:\w+\s+)?{_TIME}|"
    rf"how\s+(?:long\s+(?:ago|since|has|have|had|was|were|did|until|before)|soon|recently|old)\b|"
    r"since\s+when|until\s+when)"
    rf"|(?P<who>who(?:m|se|['’]s|['’]d|['’]re)?|(?:what|which)\s+(?:\w+\s+)?{_PERSON}|what\s+person)"
    r"|(?P<general>how(?!\s+(?:many|much|often|far|big|large|tall|long|fast)\b)|what\s+if|what\s+do\s+you\s+think)"
    r"|(?P<what>what(?:['’]?s|['’]re)?|which|where|how\s+(?:many|much|often|far|big|large|tall|long|fast)|"
    r"(?:list|name|enumerate)\s+(?:all|the|every|some|any|his|her|our|my|their))"
    r")\b",
    re.I | re.A,
)
_WEAK = pattern(
    r"\b(?P<why>because|reasons?|rationale)\b|\b(?P<when>when|timeline|chronology|date\s+of)\b", re.I | re.A
)
_CHATTER = pattern(
    r"^.*\b(?:i|we|you)\s+(?:already\s+|do\s+)?know\b[^?]*?\bbut\b|"
    r"\b(?:what\s+(?:i|we)(?:['’]d)?\s+(?:\w+\s+){1,3}?to\s+know\s+is|(?:guess|know)\s+what|who\s+knows|"
    r"whatever|what['’]s\s+up|what\s+about\s+this|how\s+are\s+you|can\s+you\s+tell\s+me\s+how\s+it\s+is\s+that)\b",
    re.I | re.S | re.A,
)
_SENTENCE_END = pattern(r"(?<=[?.!])\s+|\n")
LONGEST_QUESTION = 2_000


def intent_by_words(question: str) -> Intent:
    """The intent that the first question word shows; "general" where there is no such word.

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


_NEAREST = 3


def intent_by_vectors(
    query_vector: NDArray[np.float32],
    exemplar_vectors: NDArray[np.float32],
    exemplar_intents: Sequence[Intent],
    *,
    margin: float,
) -> Intent | None:
    """The intent whose three nearest exemplars are nearest on average, by cosine; None where unsure.

    `query_vector` is (dims,), `exemplar_vectors` (n, dims) with `exemplar_intents` in the same order; neither
    need be normalised; rows of zeros or with NaN do not count. The answer is unsure when the lead over the next
    intent is less than `margin` (a difference of cosines), or when the query has no vector.

    Raises:
        ContractError: the shapes do not belong together.
    """
    vectors = np.asarray(exemplar_vectors, dtype=np.float64)
    query = np.asarray(query_vector, dtype=np.float64)
    if query.ndim != 1 or vectors.shape != (len(exemplar_intents), query.size):
        raise ContractError(
            f"a query of shape {query.shape}, exemplars of {vectors.shape} and {len(exemplar_intents)} intents do "
            "not belong together."
        )
    lengths = np.linalg.norm(vectors, axis=1)
    length = float(np.linalg.norm(query))
    usable = np.isfinite(lengths) & (lengths > 0)
    if not np.isfinite(length) or length == 0 or not usable.any():
        return None
    cosines = np.full(len(lengths), -np.inf)
    cosines[usable] = np.vecdot(vectors[usable], query) / (
        lengths[usable] * length
    )  # wakes no threads of BLAS
    names = np.array(exemplar_intents)
    scores: list[tuple[float, Intent]] = []
    for intent in get_args(Intent):
        nearest = np.sort(cosines[usable & (names == intent)])[-_NEAREST:]
        if nearest.size:
            scores.append((float(nearest.mean()), intent))
    scores.sort(reverse=True)
    if len(scores) > 1 and scores[0][0] - scores[1][0] < margin:
        return None
    return scores[0][1]


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
_LIST = pattern(
    r"^\W*(?:in\s+)?(?:what|which)\s+(?:are\b|(?:(?!is|was|does|did|has|do|the|kind|type|sort)\w+\s+){0,3}?"
    r"(?!(?:is|was|does|has|this|his|its)\b)\w+[^s\W]s\s+(?:has|have|had|do|does|did|are|were)\b)",
    re.I | re.A,
)


def is_complex(question: str) -> bool:
    """Return whether a question joins, compares, counts, lists, supposes or goes through time: it needs more results.

    Simple ones get depth 2 and 5 results, complex ones 4 and 20; in doubt it is complex, which costs only room.
    """
    text = question[:LONGEST_QUESTION]
    return (
        len(text.split()) > LONG_QUESTION
        or text.count("?") > 1
        or ";" in text
        or _COMPLEX.search(text) is not None
        or _LIST.search(text) is not None
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


def asks_for_list(question: str) -> bool:
    """Return whether a question asks for several things ("which books", "where has she been"), by its words."""
    return _LIST.search(question[:LONGEST_QUESTION]) is not None
