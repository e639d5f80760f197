"""Answers to a question for a secret: a bare value on one of the lines after it, or in the next message."""

from collections.abc import Iterator
from typing import Final

from slowwave.deferred import pattern
from slowwave.redaction.labelled.labels import LABEL_WORDS, Label
from slowwave.redaction.labelled.near import is_generated, is_invented
from slowwave.redaction.labelled.phrases import phrase_alone, phrase_within
from slowwave.redaction.labelled.written import line_end, line_start, value_at
from slowwave.redaction.shapes import is_identifier, is_mundane, is_shuffled, is_strong
from slowwave.redaction.values import is_ordinary, is_random, looks_chosen

_REACH: Final = 400
_LINES: Final = 3
_WORDS_OF_TURN: Final = 3
_ASKS = pattern(
    r"(?i)\?|\b(?:please|need|send|give|tell|enter|paste|provide|type|remind|share|bitte|schick|gib|brauche|nenne|envoie|donne|envoyez|donnez|manda"
    r"|envía|dame|dime|necesito|dammi|dimmi|serve|preciso|pode|manda|me passa|stuur|geef|nodig|wyślij|podaj|daj|potrzebuję|what|which|wie|welche|quel|quelle"
    r"|cuál|qual|wat|jakie|jaki)\b"
)
_SPEAKER = pattern(
    r"[ \t>*_-]{0,6}(?:[\[(<]?(?=[\d., /TZ-]{0,12}\d:\d\d)[\d:. ,/TZ-]{4,24}[\])>]?[ \t]{0,3})?"
    r"(?P<name>[*_<@]{0,2}[\w .-]{1,30}[*_>]{0,2}[ ]?:[*_]{0,2}[ \t]{1,3}|[\[(<][\w .-]{1,20}[\])>]:?[ \t]{1,3})?"
)
_OPENING = pattern(
    r"(?i)(?:(?:sure|yes|yep|ok(?:ay)?|it'?s|its|it is|here|here you go|es|c'est|ist|das ist|klar|ja|oui|sí|si|sì|sim|tak|jasne|è|é|jest|to|het is|is|claro"
    r"|certo|voilà|try|:|hm+|uh|eh|so|now|this one|the new one is|now it is|jetzt|nun)[,.:!]?\s{1,3}){0,3}"
)
_LAST = pattern(
    r"(?:[^\W\d_]{1,12}['’]?[,.:!]?[ ]{1,2}){1,4}(?P<value>[\"'`“„«(]?(?=\S*[\d!@#$%&*_-])[^\s]{4,80})\s*\Z"
)
"""The last word of a short answer, with something in it that no plain word has."""
_DIGITS = pattern(r"(?:[A-Z]-)?\d{3,10}[#*]?|\d{3,4}[ -]\d{3,4}")


def asked_spans(text: str, label: Label) -> Iterator[tuple[int, int]]:
    """Places of the answer to a question in which a label stands."""
    if label.kind in ("login", "hint", "seed", "codes", "weak"):
        return
    start = line_start(text, label.name_start, _REACH)
    end = line_end(text, label.end, _REACH)
    line = text[start:end]
    is_question = line.rstrip().endswith(("?", "？"))
    speaker = _SPEAKER.match(line)
    is_turn = bool(
        speaker
        and speaker["name"]
        and speaker["name"].strip(" :*").lower() not in LABEL_WORDS
        and label.start > start + speaker.end()
        and line.count(" ", speaker.end()) >= _WORDS_OF_TURN
        and label.kind in ("password", "pin", "code", "totp")
    )
    if (
        text[end : end + 1] != "\n"
        or not (is_turn or _ASKS.search(line))
        or (label.kind == "code" and not is_question and " " not in line.strip())
    ):
        return
    position = end + 1
    for _ in range(_LINES):
        if position >= len(text):
            return
        row_end = line_end(text, position, _REACH)
        if row_end - position >= _REACH:
            return
        if answer := _answer(text, label, position, row_end, is_question=is_question, is_turn=is_turn):
            yield answer
            return
        position = row_end + 1


def _answer(
    text: str, label: Label, position: int, row_end: int, *, is_question: bool, is_turn: bool
) -> tuple[int, int] | None:
    speaker = _SPEAKER.match(text, position, row_end)
    is_said = bool(speaker and speaker["name"])
    if is_turn and not is_said:
        return None
    start = speaker.end() if speaker else position
    opening = _OPENING.match(text, start, row_end)
    begin = opening.end() if opening else start
    is_answer = is_said or is_question
    if is_answer and "phrase" in label.word and (phrase := phrase_within(text, begin, row_end)):
        return phrase
    if is_answer and (last := _LAST.match(text, begin, row_end)):
        begin = last.start("value")
    if is_answer and label.kind == "password" and (phrase := phrase_alone(text, begin, row_end)):
        return phrase
    found = value_at(text, begin)
    if not found or found.end > row_end:
        return None
    if is_ordinary(found.text):
        return None
    strong = is_strong(found.text) or is_generated(found.text) or is_invented(found.text)
    value = found.text.rstrip(",;:" if strong else ".,;:!?")
    is_alone = not text[found.start + len(value) : row_end].strip(" .,!?)\"'`")
    is_made = is_alone and is_answer and is_shuffled(value)
    if label.kind in ("pin", "code", "totp"):
        is_secret = is_answer and is_alone and bool(_DIGITS.fullmatch(text[begin:row_end].rstrip(" .")))
        value = text[begin:row_end].rstrip(" .") if is_secret else value
    elif label.kind == "password":
        is_secret = (
            strong
            or is_made
            or (
                looks_chosen(value)
                and (
                    is_alone
                    or is_said
                    or bool(opening and opening[0])
                    or text.startswith((",", "("), found.end)
                )
            )
        )
        is_secret = is_secret and (not is_identifier(value) or is_alone)
    else:
        is_secret = is_answer and is_alone and len(value) >= 12 and is_random(value)
    if is_secret and (_DIGITS.fullmatch(value) or not is_mundane(value)):
        return found.start, found.start + len(value)
    return None
