"""Values near a label by their look alone, whatever stands between: "try x, capital first letter, for the wiki".

No syntax and no word links them to the label, so only what hardly anything but a person's password or a generator's
output looks like is taken.
"""

from collections.abc import Iterator
from typing import Final

from slowwave.deferred import pattern
from slowwave.redaction.labelled.labels import LINKS_TOLD, Label, is_of_network
from slowwave.redaction.labelled.written import line_end, line_start
from slowwave.redaction.shapes import is_mixed, is_mundane, is_scattered, is_shuffled, is_strong, word_share
from slowwave.redaction.values import is_ordinary, is_reference

_REACH: Final = 160
_AROUND: Final = 3
"""Lines before and after, of which one may be empty."""
_SHORTEST_KEY: Final = 16
_SHORTEST_BROKEN: Final = 10
_SHORTEST_JOINED: Final = 14
_SHORTEST_ALONE: Final = 20
_TOKEN = pattern(r"[^\s\"'`“”„«»‹›‘’<>(){}\[\],;|]{7,200}")
_MAYBE = pattern(r"[\d-]")
"""Without one of these a short word has no look of a secret."""
_GIVEN = pattern(r"[#\w.$-]+=|\*[A-Za-z_]")
_PASS_WITH = pattern(r"\w|[\"'*`]{0,3}[ \t]{0,12}[:=(|/-]|[ \t]{2}|[ \t]\S*\d\S*[ \t]*(?:\n|\Z)")
_LETTERS_AND_DIGITS = pattern(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=\D*\d)[A-Za-z0-9_.-]{10,100}")
_WITH_SIGN = pattern(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[\w!@#$%^&*+?.~§€£=-]{8,40}")
_SIGN = pattern(r"[!@#$%^&*+?~§€£]")
_WORDS_AND_NUMBER = pattern(
    r"(?:[A-ZÄÖÜ][a-zäöüß]{2,14}[-_.]?){1,3}[#@!$%&*+]?\d{2,6}[!?#$%&*+._-]{0,2}|[A-Z]{3,6}[-_.][a-z]{3,10}[-_.]\d{2,5}"
)
_WORD_AND_NUMBER = pattern(r"[a-z]{4,14}[-_.@#]?\d{2,5}[!?#$%&*+._-]{0,2}|(?:[a-z]{3,10}-){2,5}\d{1,4}")
_ESCAPED_END = pattern(r"(?:\\[nrt])+\Z")
_PHRASE = pattern(r"[a-z]{3,10}(?:-[a-z]{3,10}){2,6}")
_ID = pattern(
    r"[a-z]{2,12}[_-][A-Za-z0-9]+|[0-9a-fA-F-]+|0x[0-9a-fA-F]+|\d+(?:st|[nr]d|th|px|ms|kb|mb|gb|x\d+)"
)
_NAMED_BEFORE = pattern(
    r"(?i)(?:\b(?:ids?|uuid|guid|hash|sha-?\d*|md5|commit|digest|checksum|version|ref|etag|integrity|fingerprint|user|username|usuario|"
    r"utente|utilisateur|utilizador|usuário|benutzer|benutzername|gebruiker|użytkownik|login|account|compte|konto|cuenta|conta|host|server|"
    r"e?-?mail|public key|pubkey|address|file|image|tag|branch|revision|request|trace|span|session|build|release|model|room|page|port)"
    r"[\"'`]?\s{0,3}[:=#]?\s{0,3}[\"'`(@]?|(?:Id|ID|_id|Uuid)\\{0,3}[\"'`]?\s{0,3}[:=]\s{0,3}\\{0,3}[\"'`]?|[/@=.\\$&?%:#~-])\Z"
)
_KIND: Final = {"password": "password", "login": "password", "hint": "password", "key": "key", "token": "key"}


_TOLD = pattern(rf"(?i)\b(?:{'|'.join(sorted(LINKS_TOLD))})\s[\"'`“„«]?\Z")


def near_spans(text: str, label: Label) -> Iterator[tuple[int, int]]:
    """Places of values on the label's line, and alone on the lines around it, that their look gives away."""
    kind = _KIND.get(label.kind)
    if "login" in label.kinds:
        kind = "password"
    if label.kind == "weak" and is_of_network(text, label, label.end):
        kind = "password"
    if label.word == "pass" and not _PASS_WITH.match(text, label.end):
        return  # a statement, or the verb
    if kind is None or text.startswith(("(", "["), label.end) or text.endswith(".", 0, label.start):
        return
    start = line_start(text, label.start, _REACH)
    end = line_end(text, label.end, _REACH)
    is_sure = label.kind in ("password", "weak") or (label.kind != "login" and "login" in label.kinds)
    for token in _TOKEN.finditer(text, start, end):
        if found := _found(
            text, token.start(), token[0], kind=kind, is_sure=is_sure, beside=label.name_end + 1
        ):
            yield found
    if label.kind != "hint":
        yield from _around(text, start, end, kind)


def _found(
    text: str, start: int, value: str, *, kind: str, is_sure: bool, beside: int
) -> tuple[int, int] | None:
    if not _MAYBE.search(value) and len(value) < _SHORTEST_ALONE:
        return None
    bare = _ESCAPED_END.sub("", value).rstrip(".:")
    if not _is_candidate(text, start, bare):
        return None
    if kind == "key":
        is_secret = len(bare) >= _SHORTEST_KEY and (
            is_generated(bare) or (len(bare) >= _SHORTEST_ALONE and bare.isalnum() and is_mixed(bare))
        )
    else:
        is_secret = (
            is_generated(bare) or is_invented(bare) or (len(bare) >= _SHORTEST_KEY and is_shuffled(bare))
        )
        is_secret = is_secret or (
            is_word_and_number(bare) and (is_sure or bool(_TOLD.search(text, max(0, start - 16), start)))
        )
        is_told = _TOLD.search(text, max(0, start - 16), start) or (is_sure and start == beside)
        is_secret = is_secret or bool(_PHRASE.fullmatch(bare) and is_told)
    return (start, start + len(bare)) if is_secret else None


def _around(text: str, start: int, end: int, kind: str) -> Iterator[tuple[int, int]]:
    """Values alone on one of the two lines before and after a line, or after a name on them."""
    places: list[tuple[int, int]] = []
    position = start
    for _ in range(_AROUND):
        if position <= 0 or len(places) == 2:
            break
        begin = line_start(text, position - 1, _REACH)
        places += [(begin, position - 1)] if position - 1 > begin else []
        position = begin
    position, before = end + 1, len(places)
    for _ in range(_AROUND):
        if position >= len(text) or len(places) == before + 2:
            break
        stop = line_end(text, position, _REACH)
        places += [(position, stop)] if stop > position else []
        position = stop + 1
    for begin, stop in places:
        if alone := _ALONE.fullmatch(text, begin, stop):
            value = alone["value"].rstrip(".:")
            if _is_secret_alone(value, kind) and _is_candidate(text, alone.start("value"), value):
                yield alone.start("value"), alone.start("value") + len(value)


def _is_secret_alone(value: str, kind: str) -> bool:
    if kind == "key":
        return len(value) >= _SHORTEST_ALONE and is_generated(value)
    return is_generated(value) or is_shuffled(value) or _is_surely_invented(value)


_ALONE = pattern(
    r"[\s>*•$=+-]{0,12}(?:\d{1,6}[.):]?\s{1,4})?(?:[\w .@/()-]{1,30}[:=][ \t]{1,8}|(?:[^\s=]{1,80}[ \t]{1,8}){1,2})?[\"'`]?(?P<value>[^\s\"'`,;<>(){}\[\]|]{8,120})[\"'`]?[,;]?\s{0,4}"
)


def _is_candidate(text: str, start: int, value: str) -> bool:
    return not (
        _ID.fullmatch(value)
        or _GIVEN.match(value)
        or "://" in value
        or "/" in value
        or "\\" in value
        or _NAMED_BEFORE.search(text, max(0, start - 24), start)
        or is_ordinary(value)
        or is_reference(value, is_shell=False)
        or is_mundane(value.rstrip("?!"))
    )


def is_generated(value: str) -> bool:
    """Return whether small and capital letters and digits, or signs, are mixed as only a generator mixes them."""
    if _LETTERS_AND_DIGITS.fullmatch(value):
        is_spoken = word_share(value) > 0 and len(value) < _SHORTEST_JOINED
        return is_scattered(value) and (value.isalnum() or not is_spoken) and len(value) >= _SHORTEST_BROKEN
    return bool(_WITH_SIGN.fullmatch(value)) and bool(_SIGN.search(value)) and is_scattered(value)


def is_invented(value: str) -> bool:
    """Return whether a person invents such a password: words with a capital, then digits, or letters, digits and a sign."""
    if _WORDS_AND_NUMBER.fullmatch(value):
        return len(value) >= 7
    if not _WITH_SIGN.fullmatch(value) or not _SIGN.search(value):
        return False
    is_plain = sum(map(str.isdigit, value)) == 1 and value.lower() == value
    is_option = value[0] in "@#~&?" or value.startswith("--")
    return (word_share(value) > 0 or is_strong(value)) and not is_option and not is_plain


def _is_surely_invented(value: str) -> bool:
    return is_invented(value) and (bool(_SIGN.search(value)) or sum(map(str.isdigit, value)) > 2)


def is_word_and_number(value: str) -> bool:
    """Return whether it is a word with digits behind it, as many passwords and some names are."""
    return bool(_WORD_AND_NUMBER.fullmatch(value)) and len(value) >= 7
