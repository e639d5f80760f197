"""The origin of a memory: the person who states it, or else the least trusted text that it was taken from.

The extractor names the turn that states a memory; nothing is believed of that. A person's turn states it if its own
words have the value and enough of the rest, or if it clearly agrees to what an assistant proposes right before. What a
document, a tool or a quote says counts against it all the same, and so does a memory that gives what it states to
somebody else. Words are compared by their beginnings: what is said in other words cannot be traced, and is no person's
word as long as there is other text that it could come from.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import polars as pl

from slowwave.deferred import pattern
from slowwave.language.lexicon import STOP_WORDS
from slowwave.schemas.choices import TRUST
from slowwave.trust.origins import NAMED, PERSON, QUOTED, REPORTED
from slowwave.trust.own_words import parts_of
from slowwave.trust.table import compiled

_RANK: Final[Mapping[str, int]] = {name: rank for rank, name in enumerate(TRUST)}

TAKEN: Final = 2
"""A memory was taken from less trusted text where its foreign words times this are more than its own."""

HALF: Final = 0.5
"""Share of a memory's words that a turn must have to state it."""

THIRD: Final = 1 / 3
"""The same of the turn that the extractor names and that has the value: the rest tells the setting."""

_DERIVED: Final = pattern(r"\d{4}-\d\d(?:-\d\d)?")
"""Dates that an extractor counts from the day of the turn: no turn has them."""

_EXACT: Final = pattern(r"[^\W_][\w.:/@%+-]*[\d@/_][\w.:/@%+-]*|\d|\b[\w-]+\.[^\W\d_]{2,}")
"""Values that are copied and never put in other words: numbers, paths, addresses, identifiers, domains."""

_WORD: Final = pattern(r"[^\W_]+")
_STEM: Final = 5
_SAID: Final = frozenset({"decid", "want", "wante", "prefe", "agree", "ask", "asked", "like", "chose", "wish",
                         "wishe", "say", "said", "user"})  # fmt: skip
"""Words with which a memory tells that somebody said it."""

_AGREES, _DOUBTS = compiled("agrees"), compiled("doubts")
_SAYER, _THEY_SAY = compiled("sayer"), compiled("they_say")
_JOINT: Final = pattern(r"\b(?:that|and|but|as|which|who|because|when|if|while|what)\b")
_CONDITION: Final = pattern(r"\b(?:when|if|until|as soon as)\b", re.IGNORECASE)
_CLOSING: Final = pattern(r",\s*(?:as|so|wie|comme|como)?\s*$")
_SENTENCE_END: Final = pattern(r"(?<=[.!?\n])\s*")
_FIRST_SENTENCES: Final = 3
_SENTENCE: Final = pattern(r"(?<=\w\w\w[.;:])\s+|(?<=[^\w\s][.;:])\s+")
_REASON: Final = pattern(r",? (?:because|since|weil|parce que|porque) ")


class Turn(NamedTuple):
    """A turn of a page."""

    role: str
    origin: str
    speaker: str
    content: str

    @property
    def is_persons(self) -> bool:
        """Return whether a person said it, and did not only bring it in."""
        return self.role == "user" and self.origin == PERSON


class Words(NamedTuple):
    """A text by the beginnings of its telling words and its exact values, which begin with "="."""

    stems: frozenset[str]
    exact: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """Both."""
        return self.stems | self.exact


@lru_cache(maxsize=4_096)  # every memory of a page is compared with the same turns
def words_of(text: str) -> Words:
    """The words of a text."""
    low = text.casefold().replace("’", "'")
    stems = {word.rstrip("s")[:_STEM] for word in _WORD.findall(low) if word not in STOP_WORDS}
    exact = {f"={value.strip('.:,/-+%')}" for value in _EXACT.findall(low)}
    return Words(frozenset(stems - {""}), frozenset(exact - {"="}))


def agrees(own: str) -> bool:
    """Return whether a person's own words begin by clearly accepting what was proposed just before."""
    first = [part for part in _SENTENCE_END.split(own.strip()) if part.strip(" .!\n")][:_FIRST_SENTENCES]
    return any(_AGREES.search(part) and not _DOUBTS.search(part) for part in first)


def memory_origins(told: pl.DataFrame, lines: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """The origin of each memory: `key`, `origin`.

    `told` has `key`, `page`, `text` (all that the memory says), `content`, `value`, `stated_by` (the number of a turn
    of its page, nullable) and `evidence` (such numbers); `lines` are those of the pages with the whole `content` of
    their turns; `pieces` are the texts of the pages (`PIECES`).
    """
    turns: dict[int, dict[int, Turn]] = {}
    columns = ["page", "turn_number", "role", "origin", pl.col("speaker").fill_null(""), "content"]
    for page, number, *turn in lines.select(columns).iter_rows():
        turns.setdefault(page, {})[number] = Turn(*turn)
    texts = _by_page(pieces)
    origins = [
        TRUST[_rank(one, turns.get(one["page"], {}), texts.get(one["page"], []))]
        for one in told.iter_rows(named=True)
    ]
    return told.select("key", origin=pl.Series(origins, dtype=pl.String))


def traced_origins(told: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """The origin of each memory by where its words stand, never more trusted than `origin`: `key`, `origin`.

    `told` has `key`, `page`, `text` and `origin`; `pieces` are the texts of the pages (`PIECES`).
    """
    texts = _by_page(pieces)
    origins = [
        TRUST[_traced(text, texts.get(page, []), least=_RANK[origin])]
        for page, text, origin in told.select("page", "text", "origin").iter_rows()
    ]
    return told.select("key", origin=pl.Series(origins, dtype=pl.String))


def _by_page(pieces: pl.DataFrame) -> dict[int, list[tuple[int, str]]]:
    """Rank and text of the pieces of each page."""
    texts: dict[int, list[tuple[int, str]]] = {}
    for page, rank, text in pieces.select("page", "rank", "text").iter_rows():
        texts.setdefault(page, []).append((rank, text))
    return texts


def _rank(memory: Mapping[str, Any], turns: Mapping[int, Turn], pieces: Sequence[tuple[int, str]]) -> int:
    """The place of one memory in `TRUST`."""
    named = memory["stated_by"]
    order = [number for number in dict.fromkeys([named, *memory["evidence"]]) if number in turns]
    names = words_of(" ".join(turns[number].speaker for number in order)).stems
    neutral = [(rank, text) for rank, text in pieces if rank != _RANK["agent"]]
    for number in order:
        ground = _ground(number, turns)
        if _holds(memory, words_of(ground), names, is_named=number == named):
            rank = _taken(memory["text"], words_of(ground), neutral, least=_RANK[PERSON])
            return max(rank, _RANK[REPORTED if _is_passed_on(memory, turns[number], names) else PERSON])
    if named in turns and turns[named].is_persons:
        parts = parts_of(turns[named].content)
        for origin, ground in ((REPORTED, f"{parts.own}\n{parts.reported}"), (QUOTED, "\n".join(parts))):
            if _holds(memory, words_of(ground), names, is_named=True):
                return _taken(memory["text"], words_of(ground), neutral, least=_RANK[origin])
    least = max((_RANK[turns[number].origin] for number in order), default=_RANK[PERSON])
    return _traced(memory["text"], pieces, least=least)


def _ground(number: int, turns: Mapping[int, Turn]) -> str:
    """The own words of a person's turn, with the assistant's proposal right before that it agrees to."""
    turn, before = turns[number], turns.get(number - 1)
    own = parts_of(turn.content).own if turn.is_persons else ""
    if before is None or before.role != "assistant" or not agrees(own):
        return own
    return f"{own}\n{parts_of(before.content, is_typed=False).own}"


def _holds(memory: Mapping[str, Any], ground: Words, names: frozenset[str], *, is_named: bool) -> bool:
    """Return whether words have the exact values of a memory's value, and enough of its main clause or of all."""
    value = words_of(_DERIVED.sub(" ", memory["value"] or ""))
    there = ground.stems | names
    if not ground.stems or not value.exact <= ground.exact:
        return False
    clauses = [
        clause for sentence in _SENTENCE.split(memory["content"]) for clause in _REASON.split(sentence)
    ]
    main = max(clauses, key=lambda clause: len(value.stems & words_of(clause).stems))
    asked = (words_of(_DERIVED.sub(" ", text)).stems - names - _SAID for text in (main, memory["content"]))
    has_value = is_named and (not value.stems or _share(value.stems, there) >= HALF)
    return max(_share(stems, there) for stems in asked) >= (THIRD if has_value else HALF)


def _share(asked: frozenset[str], there: frozenset[str]) -> float:
    return len(asked & there) / len(asked) if asked else 0.0


def _taken(text: str, ground: Words, pieces: Iterable[tuple[int, str]], *, least: int) -> int:
    """The place of a text whose words stand in `ground`, but for what less trusted pieces alone have.

    An exact value from such a piece makes it `reported`, unless it is one digit; more than one foreign word for two own
    ones makes it what the piece is.
    """
    asked, places = words_of(text), dict[str, int]()
    wanted = {word for word in asked.all - ground.all if word[0] != "=" or len(word) > len("=0")}
    for rank, piece in pieces:
        for word in wanted & words_of(piece).all:
            places[word] = min(rank, places.get(word, rank))
    foreign = {word: rank for word, rank in places.items() if rank > least}
    own = len(asked.stems & ground.stems) + sum(NAMED < rank <= least for rank in places.values())
    rank = max(least, _RANK[REPORTED]) if any(word[0] == "=" for word in foreign) else least
    return max(rank, *foreign.values()) if len(foreign) * TAKEN > own else rank


def _traced(text: str, pieces: Sequence[tuple[int, str]], *, least: int) -> int:
    """The place of a text that no person states: of its evidence, or of less trusted pieces that it was taken from.

    Where no word of it stands in text of that trust it is one place lower, as long as the page has lower text.
    """
    own = words_of("\n".join(piece for rank, piece in pieces if NAMED < rank <= least))
    lowest = max((rank for rank, _ in pieces), default=least)
    is_own = bool(words_of(text).stems & own.stems)
    return max(_taken(text, own, pieces, least=least), least if is_own else min(least + 1, lowest))


def _is_passed_on(memory: Mapping[str, Any], turn: Turn, names: frozenset[str]) -> bool:
    """Return whether a memory gives what it states, its value or most of it, to somebody else than the speaker."""
    clauses = [
        (words_of(clause).stems, is_others) for clause, is_others in _clauses(memory["content"], turn, names)
    ]
    value = words_of(memory["value"] or "").stems
    most = max(len(value & stems) for stems, _ in clauses)
    said = {True: frozenset[str](), False: frozenset[str]()}
    for stems, is_others in clauses:
        if len(value & stems) == most:
            said[is_others] |= stems
    return bool(said[True]) and (bool(value) or len(said[True]) >= len(said[False]))


def _clauses(content: str, turn: Turn, names: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """The clauses of a memory, each with whether somebody else is said to say it; at its end, the whole sentence."""
    for sentence in _SENTENCE.split(content):
        is_closed = _is_others(sentence, turn, names, is_closing=True)
        for clause in _REASON.split(sentence):
            yield clause, is_closed or _is_others(clause, turn, names)


def _is_others(clause: str, turn: Turn, names: frozenset[str], *, is_closing: bool = False) -> bool:
    """Return whether somebody who is neither a speaker of the evidence nor unknown to the turn says the clause."""
    for match in _SAYER.finditer(clause):
        if _CONDITION.search(match["who"] or "") or (is_closing and not _closes(match)):
            continue
        who = words_of(_JOINT.split(match["who"] or match["after"])[-1]).stems
        is_known = bool(turn.speaker or who & words_of(turn.content).stems or _THEY_SAY.search(turn.content))
        is_other = is_known and bool(who) and not who & (names | {"user", "assis"})
        if is_other or words_of(match["to"] or "").stems & names:
            return True
    return False


def _closes(match: re.Match[str]) -> bool:
    """Return whether a sentence ends with who says it: ", as the technician told Mara."."""
    behind = match.string[match.end() :].strip(' .,;:!"”')
    return not behind and _CLOSING.search(match.string[: match.start()]) is not None
