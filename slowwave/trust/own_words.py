"""A message in three parts: what its writer says, what the writer may be passing on, and what it plainly quotes.

Structure and reporting words decide, never what the text asks for. What is in doubt is `reported`: it is kept, found
and believed like the rest of what its writer says, and only never passes for a person's word. A text that is pasted
bare, as one plain sentence without a mark or a word about it, cannot be told from a typed one.
"""

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from slowwave.deferred import pattern

TYPED_WORDS: Final = 400
"""A longer message of a person is taken for a paste as a whole: people type less than that."""

NAME_WORDS: Final = 5
"""Most words of a speaker's name; what is longer is no name but text, and readers leave it out."""

QUOTED_WORDS: Final = 4
"""Fewer words in quotation marks are a name or a term, and no quote."""


class Parts(NamedTuple):
    """The writer's own text, what it may be passing on, and what it plainly quotes; each in its own order."""

    own: str
    reported: str
    quoted: str


_SOURCE = (
    r"(?:read-?me|web ?pages?|pages?|web ?sites?|sites?|docs?|documentation|documents?|files?|guides?"
    r"|manuals?|wikis?"
    r"|articles?|posts?|blogs?|tutorials?|e-?mails?|mails?|messages?|threads?|tickets?|issues?"
    r"|pull requests?|prs?|commits?"
    r"|change ?logs?|comments?|reviews?|logs?|outputs?|std(?:out|err)|consoles?|terminals?"
    r"|trace(?:back)?s?|stack ?traces?"
    r"|errors?|warnings?|exceptions?|responses?|repl(?:y|ies)|answers?|results?|banners?|pop-?ups?"
    r"|notices?|headers?"
    r"|footers?|tools?|scripts?|apis?|(?:chat)?bots?|assistants?|agents?|models?|chatgpt|claude|gpt"
    r"|copilot|gemini|llms?|ai"
    r"|snippets?|excerpts?|quotes?|pastes?|transcripts?|descriptions?|instructions?|polic(?:y|ies)|specs?"
    r"|screenshots?"
    r"|search|links?|urls?|newsletters?|tweets?|forums?|someone|somebody|colleague|stranger"
    r"|seiten?|webseiten?|dokument(?:ation|e)?|datei(?:en)?|anleitung|nachricht|ausgabe"
    r"|fehler(?:meldung)?|protokoll"
    r"|fichiers?|sortie|erreur|journal|courriel|página|sitio|archivo|documento|correo|mensaje|salida|registro"
    r"|\S+\.(?:md|txt|rst|log|html?|json|ya?ml|toml|cfg|ini|csv|py|js|ts|sh|pdf|docx?)|https?://\S+|www\.\S+)"
)
_SPEECH = (
    r"(?:say|says|said|saying|state|states|stated|read|reads|write|writes|wrote|written|report|reports|reported"
    r"|tell|tells|told|claim|claims|claimed|mention|mentions|mentioned|suggest|suggests|suggested"
    r"|recommend|recommends|recommended|ask|asks|asked|demand|demands|instruct|instructs|instructed"
    r"|warn|warns|warned|complain|complains|answer|answers|answered|replies|replied|print|prints|printed"
    r"|show|shows|showed|return|returns|returned|goes|went"
    r"|sagt|steht|schreibt|meldet|lautet|zeigt|dit|écrit|indique|affiche|dice|pone|muestra|escribe)"
)
_AT = r"(?<![\w./-])"
_REPORTS = pattern(
    rf"{_AT}{_SOURCE}(?:[ '’](?:[\w./'’-]+ ){{0,5}}?)(?<!\bi )(?<!\bwe ){_SPEECH}\b"
    rf"|\b{_SPEECH}\b (?:by|in|on|at|from) (?:(?:the|a|an|this|that|my|our) )?(?:[\w-]+ ){{0,3}}?{_SOURCE}(?![\w-])"
    rf"|\b(?:read|saw|seen|heard|noticed|found"
    rf"|learned)\b[^.?!]{{0,60}}?{_AT}{_SOURCE}(?![\w-])[^.?!]{{0,20}} that\b"
    rf"|\b(?:according to|as per|quot(?:ing|ed)|(?:copied|pasted|taken|quoted|fetched|straight) from"
    rf"|found (?:this |that |it )?(?:in|on)"
    rf"|laut|gemäß|selon|d'après|según)\b(?:\s+[\w'’-]+){{0,4}}?\s+{_SOURCE}(?![\w-])",
    re.IGNORECASE,
)
"""A document, a tool or an assistant is said to say something: the sentence is hearsay, and so is what follows it."""

_REPORTING_WORDS = frozenset(
    re.findall(
        r"\w+",
        f"{_SPEECH} saw seen heard noticed found learned according per quoting quoted from "
        "laut gemäss selon après según",
    )
)
"""Every match of `_REPORTS` and of `_SAYS`, which take long, has one of these words (casefolded)."""

_SAYS = pattern(
    rf"{_AT}{_SOURCE}[ '’](?:[\w./'’-]+ ){{0,3}}?"
    r"(?:says?|said|states?|stated|claims?|claimed|writes?|wrote|recommends?|recommended|suggests?|instructs?|demands?"
    r"|sagt|schreibt|dit|écrit|dice)\b",
    re.IGNORECASE,
)
"""A document or somebody else plainly says what the sentence tells."""

_INTRODUCES = pattern(
    rf"{_AT}{_SOURCE}(?![\w-])|\b{_SPEECH}\b|\b(?:th(?:is|ese)|the following|following|below"
    rf"|folgende[snr]?|diese[srn]?"
    r"|ci-dessous|suivante?s?|voici|esto|estas?|siguientes?|aquí|here|here's|hier|paste[ds]?|pasting"
    r"|cop(?:y|ied)|quot(?:e|ed)|forward(?:ed)?|fwd?|summari[sz]e|translate|proofread|received)\b",
    re.IGNORECASE,
)
"""Before a colon: somebody else's text follows, unless the clause states something of the writer's own."""

_TAKEN_FROM = pattern(
    rf"\b(?:from|in|on|off|out of|via)\s+(?:(?:the|this|that|my|our|a"
    rf"|an)\s+)?(?:[\w'’-]+ ){{0,2}}?{_SOURCE}(?![\w-])",
    re.IGNORECASE,
)

_STATES = pattern(
    r"\b(?:remember|keep in mind|from now on|my (?:rules?|preferences?|wishes|style|way|setup|defaults?"
    r"|conventions?|answers?)"
    r"|our (?:rules?|conventions?|style|defaults?|way|decisions?)|i (?:prefer|like|want|need|decided"
    r"|always|never|use|would like"
    r"|love|hate)|we (?:decided|agreed|use|prefer|always|never|want)|one more thing|here(?:'s| is"
    r"| are) (?:how|what) (?:i|we)"
    r"|^\s*(?:for|about|regarding|as for|concerning|when it comes to)\b|merke?(?: dir)?|denk daran"
    r"|retiens|rappelle-toi|recuerda)\b",
    re.IGNORECASE,
)
"""Before a colon: the writer's own statement follows."""

_HANDS_OVER = pattern(
    r"(?:^\s*(?:see|pasted) (?:below|above)[.:]?\s*\Z)|\b(?:look at|have a look at|see|read|check out"
    r"|summari[sz]e|translate|proofread|explain|found|got|received|saw|copied"
    r"|pasted|forwarded|came across|what do you (?:think|make) of|what does|what about|thoughts on"
    r"|opinion on|^is|^does"
    r"|can you (?:read|check|explain|summari[sz]e|translate))\b(?:\s+[\w'’-]+){0,4}?\s+"
    rf"(?:(?:this|these|{_SOURCE})\b[^.?!]*[.?!:—–-]+|(?:below|above)\b[.:]?|the following\b.*)\s*\Z",
    re.IGNORECASE,
)
"""A sentence that hands a text over: what stands after it is that text."""

_GOES_ON = pattern(
    r"\s*(?:(?:and|also|but|then|so|ok(?:ay)?|thanks?(?: you)?|please|anyway|btw|by the way|for (?:me|us)"
    r"|personally"
    r"|as for me)\b[,:]?\s+)*(?:i|i'(?:m|d|ll|ve)|my|we|we'(?:re|d|ll|ve)|our|let's|ich|wir|je|nous|yo"
    r"|nosotros|thanks?)\b",
    re.IGNORECASE,
)
"""The writer speaks again, in the first person."""

_HEADING_MARKS = r"#{1,6}\s+\S|={3,}\s*$|-{3}\s*$"

_REST = pattern(
    r"\s*(?:-{2,}\s*(?:original|forwarded|begin)\b|(?:begin )?forwarded message\b|(?:on|am|le"
    r"|el)\b.{4,120}\b(?:wrote|schrieb"
    r"|a écrit|escribió)\s*:?\s*$|(?:from|von|de|sent|gesendet|subject|betreff|objet|asunto)\s*:\s*\S"
    rf"|{_HEADING_MARKS}|<!doctype\b|diff --git |index [0-9a-f]{{6,}}|commit [0-9a-f]{{7,40}}\b"
    r"|traceback\b|\+\+\+ |@@ "
    r"|(?:human|user|assistant|system|ai|tool|developer|function|bot|claude|chatgpt|gpt"
    r"|agent)\s*(?:\([^)]*\))?\s*:"
    r"|<\|?\s*/?(?:im_start|im_end|system|user|assistant|human)|\[/?inst\]|<<sys>>"
    r"|(?:https?://\S+|[\w./\\-]+\.(?:md|txt|rst|log|html?|json|ya?ml|toml|csv|py|js|ts|sh"
    r"|pdf))\s*[:>—–-]?\s*$)",
    re.IGNORECASE,
)
"""A line from which on the message is no typed one: quoted mail, a document's heading, a transcript, a patch."""

_COPIED = pattern(
    r"\s*(?:>|\||│|┃|\$ |% |# |>>> |\.\.\. |PS [A-Z]:|[\w.-]+@[\w.-]+[:~ ]|\+ |- \[[ x]\] .*https?:"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:"
    r"|\[?\d\d:\d\d(?::\d\d)?\b.{0,20}(?:\]|>|\s-\s)|\[(?:info|warn(?:ing)?|error|debug|trace|fatal|notice)\]"
    r"|(?:info|warn(?:ing)?|error|debug|fatal|critical|panic|notice|e/|w/)\b[:\s]\s*\S|[\w.]*(?:error"
    r"|exception|warning)\b.{0,60}:"
    r"|at [\w.$<>]+\(|file \"|\d+ (?:passing|failed|passed)\b|<!--|/\*|//|\*\s@)",
    re.IGNORECASE,
)
"""A line of a quote, a table, a shell, a log or a comment: so is what follows it up to the next empty line."""

_HEADING = pattern(rf"\s*(?:{_HEADING_MARKS})")
"""A person who writes in Markdown types these as well."""

_INDENTED = pattern(r"(?: {4,}|\t)\s*(?![-*•\d])\S")
_FENCE = pattern(r"\s*(?P<mark>`{3,}|~{3,}|\"{3}|'{3})")
_ELEMENT = pattern(r"\s*<(?P<name>[a-z][\w-]*)\b[^>]*>", re.IGNORECASE)
_SENTENCE = pattern(r"(?<=[.!?])[\"'”’)]*\s+|(?<=\s)[—–-]{1,2}\s+")
_COLON = pattern(r":(?=\s|$)")
_ATTRIBUTION = pattern(r"\s*(?:—|–|--|~)\s*\S.{0,60}$")
_WORD = pattern(r"\w+")
_CUT = "\ufdd0"
"""Stands where a quote was cut out: a character that no text has."""

_QUOTES = pattern(
    r"“[^”]*+(?:”|\Z)|„[^“”]*+(?:[“”]|\Z)|«[^»]*+(?:»|\Z)|‘[^’\n]*+’(?!\w)|(?<![\w\"])\"[^\"]*+(?:\"(?!\w)|\Z)"
    r"|(?<!`)`[^`\n]++`(?!`)|(?<![\w'])'(?:[^'\n]|'(?=\w)){16,}?'(?!\w)"
)


@lru_cache(maxsize=512)  # a page asks for the same few messages line by line
def parts_of(text: str, *, is_typed: bool = True) -> Parts:
    """Part a message in what it says itself, what it may be passing on, and what it plainly quotes.

    `is_typed` for a message of a person, who types prose: code, logs and everything after a reporting word are pasted
    then. A program writes all of these itself: of its text only quotes and hearsay are another's.
    """
    if is_typed and len(text.split(maxsplit=TYPED_WORDS)) > TYPED_WORDS:
        return Parts("", text, "")
    quoted: list[str] = []
    reported: list[str] = []
    own: list[str] = []
    reader = _Lines(is_typed=is_typed)
    for line in _without_quotes(text, quoted).splitlines():
        mine, other, is_plain = reader.take(line)
        if other and _ATTRIBUTION.match(line):
            other += "".join(f"\n{own.pop()}" for _ in own[-1:])
        own += [mine] if mine.strip() else []
        (quoted if is_plain else reported).extend([other] if other.strip() else [])
    return Parts("\n".join(own), "\n".join(reported), "\n".join(quoted))


def is_quoted(told: str, content: str, role: str) -> bool:
    """Return whether words of `told` stand only in what a message of this role quotes; a document quotes nothing."""
    return role != "document" and standing(told, content, role) == "quoted"


def standing(told: str, content: str, role: str) -> Literal["said", "reported", "quoted", "absent"]:
    """The standing of a text in a message: said, perhaps passed on, only quoted, or absent but for a few words."""
    asked, own, reported, quoted = _words_of(told, content, role)
    if (asked - own - reported) & quoted:
        return "quoted"
    if 2 * len(asked & (own | reported)) < len(asked):
        return "absent"
    return "reported" if (asked - own) & reported else "said"


def is_partly_quoted(told: str, content: str, role: str) -> bool:
    """Return whether most words of a text that quotes stand in what the writer of the message says itself."""
    asked, own, reported, _ = _words_of(told, content, role)
    return 2 * len(asked & (own | reported)) > len(asked)


def _words_of(told: str, content: str, role: str) -> tuple[frozenset[str], ...]:
    """The words of a text, and those of the parts of its message: own, reported, quoted."""
    texts = (told, *parts_of(content, is_typed=role == "user"))
    return tuple(frozenset(re.findall(r"\w+", text.lower())) for text in texts)


def _without_quotes(text: str, quoted: list[str]) -> str:
    """Text without what stands in quotation marks and is more than a term; that is added to `quoted`."""

    def cut(match: re.Match[str]) -> str:
        if len(match[0].split()) < QUOTED_WORDS:
            return match[0]
        quoted.append(match[0].strip("\"'“”„«»‘’`"))
        return _CUT

    return _QUOTES.sub(cut, text.replace(_CUT, ""))


class _Lines:
    """Lines of one message in their order, each parted in the writer's own text and the other."""

    def __init__(self, *, is_typed: bool) -> None:
        self._is_typed = is_typed
        self._until: str | None = None
        """The mark that ends a block; "" for the end of the message, a line break for the end of the paragraph."""
        self._is_plain = False
        """The block is a quote for certain, and not only in doubt."""
        self._is_prose = False
        """The block began within a line of prose: a quote for certain only up to the next empty line."""
        self._is_handed_over = False
        """The last sentence handed a text over, and what follows is that text unless the writer speaks on."""

    def take(self, line: str) -> tuple[str, str, bool]:
        """The writer's own part of the next line, the other, and whether the other is a quote for certain."""
        if self._until is not None:
            if self._ends(line):
                self._until = None
            self._is_plain &= bool(line.strip()) or not self._is_prose
            return "", line, self._is_plain
        block = self._opens(line)
        self._is_plain = block is not None and not _HEADING.match(line)
        if block is None and self._is_handed_over and line.strip() and not _GOES_ON.match(line):
            block = ""
        self._is_handed_over &= not line.strip()
        if block is not None:
            self._until = block
            return "", line, self._is_plain
        mine, other, goes_on = _said(line, is_typed=self._is_typed)
        is_handed = self._is_typed and _is_handed_over(line)
        is_plain = is_handed or _is_hearsay(line)
        if goes_on:
            self._is_prose = not is_handed
            self._until = "" if self._is_typed else "\n"
        elif line.strip():
            self._is_handed_over = self._is_typed and bool(_HANDS_OVER.search(_last_sentence(line)))
        self._is_plain = is_plain
        return mine, other, is_plain

    def _ends(self, line: str) -> bool:
        if self._until == "\n":
            return not line.strip()
        return bool(self._until) and self._until in line.lower()  # type: ignore[operator]

    def _opens(self, line: str) -> str | None:
        """The end of what begins with this line, if it is no prose."""
        if line.lstrip().startswith(">"):
            return "\n"
        if not self._is_typed:
            return None
        if fence := _FENCE.match(line):
            return fence["mark"] if fence["mark"] not in line[fence.end() :] else "\n"
        if _REST.match(line):
            return ""
        if element := _ELEMENT.match(line):
            end = f"</{element['name'].lower()}"
            return "\n" if end in line.lower() else end
        return "\n" if _COPIED.match(line) or _INDENTED.match(line) or _ATTRIBUTION.match(line) else None


def _said(line: str, *, is_typed: bool) -> tuple[str, str, bool]:
    """The own and the quoted part of a line of prose, and whether the quote goes on after it."""
    own, quoted, begin = list[str](), list[str](), 0
    for end in [*(match.end() for match in _SENTENCE.finditer(line)), len(line)]:
        sentence = line[begin:end]
        colon = _COLON.search(sentence)
        is_intro = colon is not None and _is_introduction(sentence[: colon.start()], is_typed=is_typed)
        if _CUT in sentence and (is_intro or _reports(sentence)):
            quoted.append(sentence)  # the quote itself is cut out already: the writer goes on after it
        elif colon is not None and is_intro:
            told = begin + colon.end()
            return _told([*own, line[begin:told]]), _told([*quoted, line[told:]]), True
        elif _reports(sentence):
            if is_typed:
                return _told(own), _told([*quoted, line[begin:]]), True
            # a program reports what it read all the time, and goes on in its own words
            quoted.append(sentence)
        elif (
            is_typed
            and _HANDS_OVER.search(sentence)
            and line[end:].strip()
            and not _GOES_ON.match(line[end:])
        ):
            return _told([*own, sentence]), _told([*quoted, line[end:]]), True
        else:
            own.append(sentence)
        begin = end
    return _told(own), _told(quoted), False


def _reports(text: str) -> bool:
    """Return whether a document, a tool or an assistant is said to say something."""
    return _has_reporting_word(text) and _REPORTS.search(text) is not None


def _has_reporting_word(text: str) -> bool:
    return not _REPORTING_WORDS.isdisjoint(_WORD.findall(text.casefold()))


def _is_handed_over(line: str) -> bool:
    """Return whether a line hands over the text that follows its colon: "Please summarise this page:"."""
    colon = _COLON.search(line)
    return colon is not None and bool(_HANDS_OVER.search(line[: colon.end()]))


def _is_hearsay(line: str) -> bool:
    """Return whether a line names a document, a tool or an assistant that plainly says what it tells."""
    if not _has_reporting_word(line):
        return False
    colon = _COLON.search(line)
    return bool(_SAYS.search(line)) or (colon is not None and bool(_REPORTS.search(line[: colon.start()])))


def _last_sentence(line: str) -> str:
    return _SENTENCE.split(line.strip())[-1]


def _told(parts: list[str]) -> str:
    return "".join(parts).replace(_CUT, " ")


def _is_introduction(clause: str, *, is_typed: bool) -> bool:
    """Return whether somebody else's text follows the clause."""
    if _reports(clause) or (is_typed and (_HANDS_OVER.search(f"{clause}:") or _TAKEN_FROM.search(clause))):
        return True
    return is_typed and bool(_INTRODUCES.search(clause)) and not _STATES.search(clause)
