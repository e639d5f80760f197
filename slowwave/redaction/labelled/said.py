"""Values that a sentence tells near a label: "the password for it is x", "login with a / b", "x is the password".

The languages differ in their labels and in the words that link them to a value; both stand in `labels.toml`. What
looks like nothing but a password is taken without a link.
"""

from collections.abc import Iterator
from typing import Final

from slowwave.deferred import pattern
from slowwave.language.lexicon import STOP_WORDS
from slowwave.redaction.labelled.given import CACHE_KEY, fits, fitting_at, is_key_id
from slowwave.redaction.labelled.labels import (
    ABOUT,
    LINK_FILLERS,
    LINKS_AFTER,
    LINKS_BEFORE,
    LINKS_REPORTING,
    LINKS_TELLING,
    TABLE,
    Label,
)
from slowwave.redaction.labelled.written import Written, line_end, line_start, value_at
from slowwave.redaction.shapes import (
    has_sign,
    is_identifier,
    is_mixed,
    is_mundane,
    is_scattered,
    is_shuffled,
    is_strong,
    word_share,
)
from slowwave.redaction.values import (
    MOST_WORDS,
    SHORTEST_GIVEN,
    SHORTEST_SAID_KEY,
    is_ordinary,
    is_random,
    is_reference,
    is_sentence,
    looks_chosen,
)

REACH: Final = 140
"""Characters after a label in which its value is looked for, on its line."""
_REACH_BEFORE: Final = 90
_FILLERS: Final = 5
_MAYBE = pattern(r"[\d\"'`“„«‹‘‚!@#$%^&*+=_~-]|\w\.\w|[a-z][A-Z]")
"""Without one of these a word is no secret, unless it is told as one."""
_OTHER_FIELD = pattern(r"[\"'`][:=,]\Z")
_NEXT_FIELD = pattern(r"[,{]\s{0,4}\w{1,40}:\s{0,2}\Z")
"""The name of another field of an object, before its value."""
_CHANGED = pattern(
    r"(?i)chang|reset|rotat|updat|geänd|gewijz|cambi|modif|alter|zmien|ustaw|aangepas|verander"
)
_TOKEN = pattern(r"\S+")
_MARKS = pattern(r"(?:[:=→⇒>]|->|—|–)\Z")
_TELLING = pattern(r"[\d\"'`“„«‹‘‚!@#$%^&*=:]|[-_]\w+[-_]|(?i:" + "|".join(sorted(LINKS_REPORTING)) + ")")
"""Without one of these a line tells no secret."""
_OPENERS = "\"'`“„«‹‘‚*([\\-+!%_?.~"
_END = pattern(r"[.!]?[\"'”»`)*]{0,3}(?:\s*$|\s*\n|[.,;!]\s)")
_PAIR_BODY = (
    r"[\"'`“„«(]?(?P<user>[\w.@+\\-]{2,64})[\"'`”“»]?\s{0,3}(?:/|:|\||,|;|\s(?:and|und|et|y|e|en|i|with|using|plus|&|con|mit|avec|com|met|z)\s)\s{0,3}"
    r"(?:(?:password|passwort|pw|pass)\s)?[\"'`“„«]?(?P<secret>[^\s\"'`“”„«»/][^\s\"'`“”„«»]{4,80})"
)
_LINKED = r"(?:\b(?:with|as|using|via|is|was|are|sind|sont|son|sono|são|zijn|są|to|mit|als|avec|con|com|met|z|by|come|como|comme|used)\b|[:=>→|-])\s{1,4}(?:[^\W\d]{1,12}\s){0,2}?"
_PAIR = pattern("(?i)" + _LINKED + _PAIR_BODY)
_PAIR_AT_ONCE = pattern(r"(?i)s?\s{1,3}" + _PAIR_BODY)
_WIFI = pattern(r"(?i)wi-?fi|wlan|wpa|hotspot|ssid|router|livebox|fritz")
_STOPS = pattern(
    r"[,.;:!?#*)\]]|\s{0,2}$|\s{0,2}\n|\s(?:and|then|und|dann|et|puis|y|luego|e|poi|depois|en|daarna|i|potem|\(|-|–|—)\s"
)
_PHRASE = pattern(r"(?:phrase|frase|fraza|zin\b|parole|satz|passphrase)")
_ACCOUNTS = frozenset(
    [
        "user",
        "account",
        "usuario",
        "cuenta",
        "utente",
        "conta",
        "konto",
        "benutzer",
        "gebruiker",
        "użytkownik",
        "compte",
        "utilizador",
        "usuário",
    ]
)
_OTHER_CODES = pattern(rf"(?i){TABLE['opening']['other_codes']}")
_KEYWORD = pattern(r"[a-z_]{3,}=[(\[{\d]")
_OLD_AND_NEW = frozenset(["in", "from", "von", "de", "da", "van", "z"])
_VERB = pattern(r"""\s["'][^"'\n]*\s""")
_COMMIT = pattern(r"[0-9a-f]{7,40}")
_BREAK = pattern(r"(?<!\\)\\n")
"""The end of a line in a text that was written with escapes."""
_ITEM = pattern(r"[^\s\w\"']{0,3}[\"'],\s")
"""The end of an item of a list: what follows are others."""
_VALUE_FLAG = pattern(
    r"--(?:value|body|text|content|data|plain|with|set|secret|pass|pw|new|string|from-literal)"
)
_COMMENT = pattern(r"(?:#|//|--|/\*)\s")


def said_spans(text: str, label: Label) -> Iterator[tuple[int, int]]:
    """Places of what is said to be the value of a label, on its line."""
    if label.word == "pass" and _VERB.match(text, label.end):
        return
    end = line_end(text, label.name_end, REACH)
    broken = _BREAK.search(text, label.name_end + 3, end)
    end = broken.start() if broken else end
    is_telling = bool(_TELLING.search(text, label.name_end, end))
    is_login = "login" in label.kinds and bool(
        _TELLING.search(text, line_start(text, label.start, _REACH_BEFORE), end)
    )
    if is_login and (pair := _pair(text, label, end)):
        yield pair
        return
    if label.kind in ("seed", "codes"):
        return
    if _PHRASE.search(label.word) and (phrase := _phrase(text, label, end)):
        yield phrase
        return
    is_changed = is_telling and bool(_CHANGED.search(text, line_start(text, label.start, REACH), end))
    after = _after(text, label, end, is_changed=is_changed) if is_telling else None
    if found := after or _before(text, label):
        yield found
    if (
        after
        and after[0] > label.end
        and is_changed
        and (other := _after(text, label, end, after[1], is_changed=True))
    ):
        yield other


def _pair(text: str, label: Label, end: int) -> tuple[int, int] | None:
    """The password of "name / password" after a word for signing in, or before it."""
    start = line_start(text, label.start, _REACH_BEFORE)
    for match in (
        *_PAIR.finditer(text, label.end, end),
        _PAIR_AT_ONCE.match(text, label.name_end, end),
        *_PAIR.finditer(text, start, label.start),
    ):
        if not match:
            continue
        value = _BREAK.split(match["secret"])[0].rstrip(".,;:!?)")
        is_address = "/" in value or "/" in match["user"]
        if looks_chosen(value) and not is_address:
            return match.start("secret"), match.start("secret") + len(value)
    return None


def _phrase(text: str, label: Label, end: int) -> tuple[int, int] | None:
    """A pass phrase of four plain words or more after a word that says what it is."""
    words = list(_TOKEN.finditer(text, label.name_end, end))
    for number, token in enumerate(words[:-4]):
        if token[0].lower().rstrip(":") not in LINKS_TELLING and not token[0].endswith(":"):
            continue
        run = []
        for word in words[number + 1 :]:
            plain = word[0].rstrip(".,;")
            if (
                not plain.isalpha()
                or not plain.islower()
                or plain in STOP_WORDS
                or plain in ABOUT
                or len(plain) < 3
            ):
                break
            run.append(word)
            if plain != word[0]:
                break
        if len(run) >= 4:
            return run[0].start(), run[-1].start() + len(run[-1][0].rstrip(".,;"))
    return None


def _after(text: str, label: Label, end: int, begin: int = 0, *, is_changed: bool) -> tuple[int, int] | None:
    before = ""
    for number, token in enumerate(_TOKEN.finditer(text, begin or label.name_end, end)):
        word = token[0].lower()
        if (
            number
            and not _MAYBE.search(token[0])
            and before.rstrip(":") not in LINKS_REPORTING
            and before[-1:] != ":"
        ):
            before = before if word in LINK_FILLERS else word
            continue
        if number or word[0].isalnum() or word[0] in _OPENERS:
            if token[0][0] in "\"'`" and _NEXT_FIELD.search(text, token.start() - 50, token.start()):
                break
            link = before if _is_link(before, is_changed=is_changed, number=number) else ""
            if (link or number == 0) and (fitting := fitting_at(text, label, token.start())):
                return fitting
            is_argument = token.start() == label.name_end and token[0][0] in "(["
            found = value_at(text, token.start() + (len(token[0]) > 2 and token[0][0] in "(["))
            if (
                found
                and (found.is_quoted or not is_argument)
                and _is_said(text, label, found, link=link, number=number)
            ):
                return _trimmed(found)
        if word not in LINK_FILLERS:
            before = word
    return None


def _is_link(word: str, *, is_changed: bool, number: int) -> bool:
    """Return whether a word links the label to the value after it."""
    if not word or _OTHER_FIELD.search(word):
        return False
    if word.rstrip(":=,") in LINKS_AFTER or _MARKS.search(word):
        return True
    return (is_changed and word in _OLD_AND_NEW) or (number == 1 and bool(_VALUE_FLAG.match(word)))


def _trimmed(found: Written) -> tuple[int, int]:
    """The place of a value without the sign that ends its sentence."""
    value = found.text if found.is_quoted else found.text.rstrip(".,;:)")
    return found.start, found.start + len(value)


def _is_said(text: str, label: Label, found: Written, *, link: str, number: int) -> bool:
    value = found.text if found.is_quoted else found.text.rstrip(".,;:!?)")
    is_named = is_ordinary(value) or is_reference(value, is_shell=False)
    is_item = found.is_quoted and (
        value[0].isspace() or (not link and bool(_ITEM.match(text, label.name_end)))
    )
    is_named = is_named or is_item or (found.is_quoted and value == text[label.name_start : label.name_end])
    if len(value) < SHORTEST_GIVEN or is_named or is_key_id(text, label, value):
        return False
    if (link or number == 0) and fits(label, value):
        return True
    if "code" in label.kinds:
        return _is_code(text, label, found, value, link=link)
    if value[0] in "])},;" or _KEYWORD.match(value) or "://" in value or '" "' in value:
        return False
    is_network = label.kind in ("weak", "key", "pin") and bool(
        _WIFI.search(text, line_start(text, label.start, REACH), found.start)
    )
    if label.kind in ("login", "pin") and not is_network:
        is_stated = link.rstrip(":") in LINKS_TELLING or (
            label.kind == "pin" and link in ("with", "mit", "avec", "con", "com")
        )
        is_password = is_strong(found.text) or (
            label.word not in _ACCOUNTS and looks_chosen(value) and len(value) >= 8
        )
        return is_stated and is_password and not is_identifier(value)
    if label.kind == "weak" and not is_network:
        is_public = is_identifier(value) or is_mundane(value) or bool(CACHE_KEY.match(value))
        is_beside = number == 0 and len(value) >= 2 * SHORTEST_SAID_KEY
        return (bool(link) or is_beside) and is_mixed(value) and not is_public
    if (
        is_network
        and (number <= 1 or link)
        and (looks_chosen(value) or is_shuffled(value) or (value.isdigit() and len(value) >= 8))
    ):
        return True
    if label.kind in ("key", "token", "totp", "codes"):
        return _is_key(text, label, found, value, link=link, number=number)
    return label.kind == "password" and _is_password(text, label, found, value, link=link, number=number)


def _is_password(text: str, label: Label, found: Written, value: str, *, link: str, number: int) -> bool:
    """Judge a value near a password: by its look, by what links it, and whether it ends what is said."""
    if (
        is_strong(found.text)
        or (link and is_shuffled(value))
        or (looks_chosen(value) and (bool(link) or number == 0 or (found.is_quoted and " " not in value)))
    ):
        return not is_identifier(value) or bool(link)
    is_own = (link and ". " not in text[label.name_end : found.start]) or (number == 0 and len(value) >= 8)
    if is_own and value.isdigit() and len(value) >= 6 and _STOPS.match(text, found.start + len(value)):
        return True
    if text[found.start - 1] == "[" and _COMMIT.fullmatch(value):
        return False
    is_word = value.lower() not in ABOUT and not is_mundane(value) and not is_sentence(value)
    if found.is_quoted:
        is_stated = link.rstrip(":=,") in LINKS_TELLING or bool(_MARKS.search(link))
        return is_stated and is_word and value.count(" ") <= 12
    is_told = link.rstrip(":") in LINKS_REPORTING or link.endswith(":")
    joined = value.count("-") + value.count("_") + value.count(".") >= 2
    return (
        is_word
        and len(value) >= 6
        and bool(_END.match(text, found.end))
        and (
            (is_told and _MARKS.search(link) is None)
            or (bool(link) and joined and len(value) >= SHORTEST_SAID_KEY)
        )
    )


def _is_code(text: str, label: Label, found: Written, value: str, *, link: str) -> bool:
    """Judge digits said to be a code that opens something: right after their label, and at the end of what is said."""
    between = text[label.name_end : found.start]
    is_other = any(one.isdigit() for one in between) or bool(
        _OTHER_CODES.search(text, label.start - 20, found.start)
    )
    if is_other or ("," in between and "which" not in between):
        return False
    is_stated = link.rstrip(":") in LINKS_TELLING or link in ("to", ":")
    is_last = bool(_STOPS.match(text, found.start + len(value)))
    return is_stated and is_last and value.rstrip("#*").isdigit() and 4 <= len(value) <= 10


def _is_key(text: str, label: Label, found: Written, value: str, *, link: str, number: int) -> bool:
    """Judge a generated value near a key: said to be it, right beside its name, or nothing else by its look."""
    if (
        len(value) < SHORTEST_SAID_KEY
        or is_mundane(value)
        or ("session" in label.word and is_identifier(value))
    ):
        return False
    if link and is_random(value) and word_share(value) < MOST_WORDS:
        return True
    is_close = number == 0 or text[found.start - 1] in "(["
    if is_close and is_scattered(value) and len(value) >= 20:
        return True
    return label.kind != "token" and is_mixed(value) and not is_identifier(value)


def _before(text: str, label: Label) -> tuple[int, int] | None:
    """A value that stands before its label: "x is the password", "use x as the password"."""
    if label.kind not in ("password", "key", "token"):
        return None
    start = line_start(text, label.name_start, _REACH_BEFORE)
    if not _TELLING.search(text, start, label.name_start):
        return None
    is_comment = label.kind in ("key", "token") and bool(_COMMENT.search(text, start, label.name_start))
    tokens = list(_TOKEN.finditer(text, start, label.name_start))[-_FILLERS - 2 :]
    for number, token in enumerate(tokens):
        link = tokens[number + 1][0].lower() if number + 1 < len(tokens) else ""
        if token.start() == start > 0 and not text[start - 1].isspace():
            continue
        found = value_at(text, token.start() + (len(token[0]) > 2 and token[0][0] in "(["))
        if not found or is_ordinary(found.text) or is_reference(found.text, is_shell=False):
            continue
        if _COMMIT.fullmatch(found.text):
            continue
        if found.end > label.start:
            continue
        value = found.text if found.is_quoted else found.text.rstrip(".,;:)")
        is_linked = (
            link in LINKS_BEFORE
            or (link[:1] == "(" and text.find(")", token.end(), label.end + 3) > 0)
            or link in ("←", "<-", "<--", "#", "//", ":")
        )
        if label.kind == "password":
            is_value = is_linked and looks_chosen(value)
            is_value = is_value or (is_strong(value) and has_sign(value) and not is_identifier(value))
        else:
            is_value = (is_linked or (is_comment and found.is_quoted)) and len(value) >= SHORTEST_SAID_KEY
            is_value = is_value and is_mixed(value) and not is_mundane(value)
        if is_value:
            return _trimmed(found)
    return None
