"""A message in three parts: what its writer says, what the writer may be passing on, and what it plainly quotes.

Structure and reporting words decide (`table.toml`), never what the text asks for. What is in doubt is `reported`: it
is kept, found and believed like the rest of what its writer says, and only never passes for a person's word. A text
that is pasted bare, as one plain sentence without a mark or a word about it, cannot be told from a typed one.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from slowwave.deferred import pattern
from slowwave.trust.table import MARKS, REPORTING, Part, compiled

TYPED_WORDS: Final = 400
"""A longer message of a person is taken for a paste as a whole: people type less than that."""

NAME_WORDS: Final = 5
"""Most words of a speaker's name; what is longer is no name but text, and readers leave it out."""

QUOTED_WORDS: Final = 4
"""Fewer words in quotation marks are a name or a term, and no quote."""

_MARKS: Final = [(mark, pattern(rf"\s*(?:{mark.pattern})", re.IGNORECASE)) for mark in MARKS]
_ANY_MARK: Final = pattern(rf"\s*(?:{'|'.join(mark.pattern for mark in MARKS)})", re.IGNORECASE)
_ATTRIBUTION: Final = pattern(r"\s*(?:—|–|--|~)\s*\S.{0,60}$")
"""Under a quote, the name of its source."""

_REPORTS, _READING, _SAYS = compiled("reports"), compiled("reading"), compiled("says")
_INTRODUCES, _STATES, _HANDS_OVER = compiled("introduces"), compiled("states"), compiled("hands_over")

_SENTENCE: Final = pattern(r"(?<=[.!?])[\"'”’)]*\s+|(?<=\s)[—–-]{1,2}\s+|(?<=\ufdd0)\s+(?=[^\W\d_])")
_WORD: Final = pattern(r"\w+")
_COLON: Final = pattern(r":(?=\s|$)")
_CUT: Final = "\ufdd0"
"""Stands where a quote was cut out: a character that no text has."""

_QUOTES: Final = pattern(
    r"“[^”]*+(?:”|\Z)|„[^“”]*+(?:[“”]|\Z)|«[^»]*+(?:»|\Z)|‘[^’\n]*+’(?!\w)|(?<![\w\"])\"[^\"]*+(?:\"(?!\w)|\Z)"
    r"|(?<!`)`[^`\n]++`(?!`)|(?<![\w'])'(?:[^'\n]|'(?=\w)){16,}?'(?!\w)"
)


class Parts(NamedTuple):
    """The writer's own text, what it may be passing on, and what it plainly quotes; each in its own order."""

    own: str
    reported: str
    quoted: str


class _Block(NamedTuple):
    """Lines that are not the writer's own, up to the end of the message or paragraph, or a closing mark."""

    part: Part
    end: str


@lru_cache(maxsize=512)  # a page asks for the same few messages line by line
def parts_of(text: str, *, is_typed: bool = True) -> Parts:
    """Part a message in what it says itself, what it may be passing on, and what it plainly quotes.

    `is_typed` for a message of a person, who types prose: code, logs and everything after a reporting word are pasted
    then. A program writes all of these itself: of its text only quotes and hearsay are another's.
    """
    if is_typed and len(text.split(maxsplit=TYPED_WORDS)) > TYPED_WORDS:
        return Parts("", text, "")
    parts: dict[str, list[str]] = {"own": [], "reported": [], "quoted": []}
    block: _Block | None = None
    is_handed_over = False
    for line in _without_quotes(text, parts["quoted"]).splitlines():
        if not line.strip():
            block = _after_paragraph(block)
            continue
        opened = _opened(line, is_typed=is_typed) if block is None or block.part == "reported" else None
        if is_handed_over and opened is None:
            opened = _Block("reported", "message")
        is_handed_over = False
        if block := opened or block:
            if _ATTRIBUTION.match(line) and parts["own"]:
                parts[block.part].append(parts["own"].pop())
            parts[block.part].append(line)
            block = None if _is_closed(block, line, is_first=opened is not None) else block
            continue
        own, other, goes_on = _prose(line, is_typed=is_typed)
        is_handed = bool(is_typed and goes_on and _HANDS_OVER.search(own))
        part: Part = "quoted" if is_handed or _is_plain_quote(line, own) else "reported"
        parts["own"].append(own)
        parts[part].append(other)
        end = "message" if is_handed else "prose" if is_typed else "paragraph"
        block = _Block(part, end) if goes_on else None
        is_handed_over = is_typed and block is None and _hands_over(_SENTENCE.split(line.strip())[-1])
    return Parts(*("\n".join(filter(str.strip, lines)) for lines in parts.values()))


def _after_paragraph(block: _Block | None) -> _Block | None:
    """The rest of a block after an empty line: of prose only the first paragraph is a quote for certain."""
    if block is None or block.end == "paragraph":
        return None
    return _Block("reported", "message") if block.end == "prose" else block


def _opened(line: str, *, is_typed: bool) -> _Block | None:
    """The block that a line begins, if it is no prose."""
    if line.lstrip().startswith(">"):
        return _Block("quoted", "paragraph")
    if not is_typed or not _ANY_MARK.match(line):
        return None
    mark, match = next((mark, match) for mark, one in _MARKS if (match := one.match(line)))
    if mark.end == "mark":
        return _Block(mark.part, match["mark"])
    if mark.end == "name":
        return _Block(mark.part, f"</{match['name'].lower()}")
    return _Block(mark.part, mark.end)


def _is_closed(block: _Block, line: str, *, is_first: bool) -> bool:
    begin = line.lower().find(block.end) + len(block.end) if is_first and block.end in line.lower() else 0
    return block.end in line.lower()[begin:] and not block.end.isalpha()


def _prose(line: str, *, is_typed: bool) -> tuple[str, str, bool]:
    """The own and the other part of a line of prose, and whether the other goes on after the line."""
    own, other, begin = list[str](), list[str](), 0
    for stop in [*(match.end() for match in _SENTENCE.finditer(line)), len(line)]:
        sentence = line[begin:stop]
        colon = _COLON.search(sentence)
        is_intro = colon is not None and _is_introduction(sentence[: colon.start()], is_typed=is_typed)
        is_report = _reports(sentence)
        told = None  # where a text of somebody else begins that goes on after the line
        if _CUT in sentence and (is_intro or is_report):
            other.append(sentence)  # the quote itself is cut out already: the writer goes on after it
        elif colon is not None and is_intro:
            told = begin + colon.end()
        elif is_report and is_typed:
            told = begin
        elif is_typed and line[stop:].strip() and _hands_over(sentence):
            told = stop
        else:  # a program reports what it read all the time, and goes on in its own words
            (other if is_report or _READING.search(sentence) else own).append(sentence)
        if told is not None:
            return _plain([*own, line[begin:told]]), _plain([*other, line[told:]]), True
        begin = stop
    return _plain(own), _plain(other), False


def _is_introduction(clause: str, *, is_typed: bool) -> bool:
    """Return whether somebody else's text follows the clause."""
    if _reports(clause) or (is_typed and _HANDS_OVER.search(f"{clause}:")):
        return True
    return is_typed and bool(_INTRODUCES.search(clause)) and not _STATES.search(clause)


def _is_plain_quote(line: str, own: str) -> bool:
    """Return whether a line, or what its writer says before a colon, names a text or tool that says what it tells."""
    return (_is_reporting(line) and _SAYS.search(line) is not None) or (
        own.rstrip().endswith(":") and _reports(own)
    )


def _reports(text: str) -> bool:
    """Return whether a document, a tool or an assistant is said to say something."""
    return _is_reporting(text) and _REPORTS.search(text) is not None


def _is_reporting(text: str) -> bool:
    return not REPORTING.isdisjoint(_WORD.findall(text.lower()))


def _hands_over(sentence: str) -> bool:
    return _HANDS_OVER.search(sentence) is not None and _READING.search(sentence) is None


def _plain(parts: list[str]) -> str:
    return "".join(parts).replace(_CUT, " ")


def _without_quotes(text: str, quoted: list[str]) -> str:
    """Text without what stands in quotation marks and is more than a term; that is added to `quoted`."""

    def cut(match: re.Match[str]) -> str:
        if len(match[0].split()) < QUOTED_WORDS:
            return match[0]
        quoted.append(match[0].strip("\"'“”„«»‘’`"))
        return _CUT

    return _QUOTES.sub(cut, text.replace(_CUT, ""))
