"""Values that are given to a label: assignments, fields, elements and the values beside a name.

`password = x`, `"password": "x"`, `<password>x</password>`, `name: DB_PASSWORD` with `value: x` under it.
"""

from collections.abc import Iterator
from typing import Final

from slowwave.deferred import pattern
from slowwave.redaction.labelled.captions import is_caption
from slowwave.redaction.labelled.labels import ABOUT, LABEL_WORDS, Label, is_of_network
from slowwave.redaction.labelled.written import Written, line_end, line_start, value_at
from slowwave.redaction.shapes import (
    SHORTEST_CHOSEN,
    is_identifier,
    is_mixed,
    is_mundane,
    is_strong,
    is_uuid,
    word_share,
)
from slowwave.redaction.values import (
    SHORTEST_GIVEN,
    fills_its_line,
    is_ordinary,
    is_random,
    is_reference,
    is_sentence,
    looks_chosen,
)

_LINK = pattern(
    r"\\{0,3}[\"'`*_\])»”’]{0,4}[ \t]{0,40}"
    r"(?:::?[ \t]{0,2}(?:&(?:'\w{1,20}[ ])?)?[A-Za-z_][\w\[\]|. ]{0,30}(?<!:)=(?!=)|=>|:=|\?\?=?|\?=|\+=|\.{3,60}|={1,3}|!={1,2}|->|→|⇒|=|::(?=[ \t])|(?P<colon>[::](?!:)))[ \t]{0,40}"
    r"(?:\*\*[ \t]{1,4}|__[ \t]{1,4}|(?:\[\]byte|bytes|bytearray|SecretStr|String::from)\((?=[\"'`])"
    r"|(?P<call>[A-Za-z_][\w.:]{0,40}\((?:default[ ]?=[ ]?|value[ ]?=[ ]?)?)(?=[\"'`]))?"
)
_BRACKETS = pattern(r"[ \t]{0,4}(?:\[[^\]\n]{0,40}\]|\([^)\n]{0,60}\))[ \t]{0,4}(?=[:=])")
_ELEMENT = pattern(
    r"(?:[ \t][\w:-]{1,40}=[\"'][^\"'\n]{0,300}[\"']){0,4}[\"']?(?:[ \t][^<>\n]{0,80})?>[ \t]{0,4}(?:<!\[CDATA\[)?"
)
_NAME_OF = pattern(
    r"(?:[ ](?:field|input|box|textbox|Feld))?[\"'`]?[ \t]{0,4}[)>,;]{0,2}(?:</(?:[Kk]ey|[Nn]ame|td|th|dt|[Ss]tring|label)>)?\s{0,80}(?:[\"'`{(\[]|-[ ])?\s{0,4}"
    r"(?:<?(?:\w{0,20}Value|value|default|val|content|string|data|current|plaintext|secret|result|text|plain|new_value|"
    r"SecretString|secret_string|string_value|Value|Default|td|dd|valor|wert|waarde|valeur|valore)\b)"
    r"(?:[ \t][\w:-]{1,40}=[\"'][^\"'\n]{0,40}[\"'])?[\"'`]?\s{0,4}(?:[:=]|=>|>|,)\s{0,4}"
)
_PAIR = pattern(r"[\"'`]{1,2}[ \t]{0,4}(?:,|\)|\]\s{0,2}=)[ \t]{0,40}(?=[\"'`])")
_CALL = pattern(r"(?:[\w]{0,20}\([ \t]{0,4}|[\"'\])]{1,4}[ \t]{0,4}\.\w{1,30}\([ \t]{0,4})(?=[\"'`])")
_BLOCK = pattern(
    r"(?i)[\"']?[ \t]{0,4}[{:][ \t]{0,4}\n(?:[ \t]{0,16}(?!default)\w[^\n]{0,200}\n){0,8}[ \t]{0,16}(?:default|value|result)[\"']?[ \t]{0,12}[:=][ \t]{0,4}"
)
_SENT = pattern(
    r"[:\s]{0,3}[\"'](?:[ \t]{0,4}[,)])?[ \t]{0,4}\r?\n[ \t]{0,16}(?:send|sendline|exp_send|\w{1,20}\.send(?:line)?)[ (]{1,2}[\"']?(?:--[ ])?(?=[\"'])"
)
_LIST = pattern(r"[\[({]\s{0,40}(?=[\"'`])")
_LIST_GAP = pattern(r"[\"'`]\s{0,4},\s{0,40}(?=[\"'`])")
_KEY = pattern(r"[\"'`][\w$. -]{1,60}[\"'`]\s{0,4}:")
_MOST_LISTED = 40
_QUOTED_DIRECTLY = pattern(r"[ \t]{1,4}(?=[\"'`“„«‘]\S)")
_FLAG_VALUE = pattern(r"[ \t]{1,4}(?=[^\s-])|[ \t]{1,4}(?=-[^-\s]{5,}[\s])")
_CELL = pattern(r"[ \t*`_]{0,20}\|[ \t]{0,40}")
_SQL = pattern(
    r"(?i)(?:with\s{1,4}(?:encrypted\s{1,4})?|identified\s{1,4}(?:with\s\w{1,40}\s)?by\s{0,4}|set\s{1,4})\Z"
)
_PIN = pattern(r"\d{3,10}[#*]?|\d{4,5}[AB]|[AB]\d{4,5}|\d{2,4}(?:[ -]\d{2,4}){1,3}[#*]?")
_BASE32 = pattern(
    r"[A-Z2-7]{16,128}=*|[a-z2-7]{16,128}|[A-Za-z2-7]{4}(?:[ -][A-Za-z2-7]{4}){3,31}(?:[ -][A-Za-z2-7]{1,4})?"
)
_FOUR_BY_FOUR = pattern(r"[a-z]{4}(?:[ -][a-z]{4}){3}(?![a-z])")
CACHE_KEY = pattern(r"[a-z]{2,20}-(?:[a-z]{2,20}-|[0-9a-f]{32,64}\Z)")
_VARIABLE = pattern(r"[A-Za-z_$][\w$:.>-]*")
_UNPACKED = pattern(r"[ \t]{0,60}(?:(?:my|let|const|var|local)[ ])?[(\[{]?(?:[\w$@.]{1,40}, ?){1,6}\$?")
_GROUPS = pattern(r"\d{3,6}(?P<gap>[ -])\d{3,6}(?:(?P=gap)\d{3,6}){1,6}(?=[\s.,;)]|\Z)")
_CLASS = pattern(r"(?:[A-Z][a-z]+){2,}")
_PASS_WORDS = frozenset({"pass", "pw", "pwd"})
_SETTER = pattern(
    r"(?i)(?:\b(?:set|with)_?\w{0,20}\(|\b(?:put|set|setproperty|append|add)\([\"']\w{1,30}[\"'], ?)[\"']\Z"
)
_WORD = pattern(r"[A-Za-z]{6,40}")
_ACCOUNT = pattern(
    r"(?im)^[ \t>*-]{0,8}(?:user(?:name)?|login|e?-?mail|host|url|server|benutzer|usuario|utente|usuário)\b[^\n]{0,80}$"
)
_NUMBERED = pattern(r"[a-z]+(?:[_-][a-z]+)*[_-]?\d{1,2}")
_FINAL = pattern(r"\s?:\s?(?:Final|int|ClassVar)")
_CONSTANT = pattern(r"[A-Z]+(?:_[A-Z]+)+|[a-z]+(?:[./][a-z]+)+|[a-z_]+(?:[./][a-z_]*\{\w+\}[\w/{}.]*)+")
_OF_CIPHER = pattern(r"(?i)(?:crypt(?:ion)?|cipher)[\"']?\s{0,4}(?:=>|[:=])\s{0,4}[\[{(]\s{0,8}[\"']?\Z")
_KEY_ID = pattern(r"(?:0x)?(?:[0-9A-F]{8}|[0-9A-F]{16})")
_OF_A_SERVICE = pattern(r"(?i)api|secret|access|client|private|auth|licen[cs]e")
SHORTEST_PIN: Final = 4


def given_spans(text: str, label: Label) -> Iterator[tuple[int, int]]:
    """Places of what is given to a label as its value, by the first way that gives one."""
    end = label.name_end
    brackets = _BRACKETS.match(text, end)
    if link := _LINK.match(text, brackets.end() if brackets else end):
        opened = _LIST.match(text, link.end())
        if opened and not _KEY.match(text, opened.end()):
            yield from _listed(text, label, opened.end())
            return
        found = value_at(text, link.end())
        if groups := _GROUPS.match(text, link.end()):
            found = Written(*groups.span(), groups[0], is_quoted=False) if label.kind == "password" else found
        if fitting := fitting_at(text, label, link.end()):
            yield fitting
            return
        is_wrapped = bool(link["call"])
        if found and is_wrapped and not _has_look(label, found.text):
            return
        if found and _is_given(text, label, found, is_colon=bool(link["colon"])):
            yield _whole(text, label, found)
            return
    for form, judge in (
        (_ELEMENT, _is_element),
        (_NAME_OF, _is_named),
        (_PAIR, _is_in_call),
        (_CELL, _is_in_cell),
        (_CALL, _is_in_call),
        (_BLOCK, _is_named),
        (_SENT, _is_in_call),
        (_FLAG_VALUE, _is_flag),
        (_QUOTED_DIRECTLY, _is_quoted),
    ):
        if (
            (link := form.match(text, end))
            and (found := value_at(text, link.end()))
            and judge(text, label, found)
        ):
            yield found.start, found.end
            return


def _whole(text: str, label: Label, found: Written) -> tuple[int, int]:
    """The place of a value; a pass phrase without quotes and groups of digits go up to the end of their line."""
    if groups := _GROUPS.match(text, found.start):
        return groups.span()
    if found.is_quoted or ("phrase" not in label.word and "zin" not in label.word):
        return found.start, found.end
    end = line_end(text, found.start, 200)
    rest = text[found.start : end].rstrip()
    words = rest.split()
    is_phrase = 3 <= len(words) <= 12 and all(word.isalpha() and word.lower() not in ABOUT for word in words)
    return (found.start, found.start + len(rest)) if is_phrase else (found.start, found.end)


def _listed(text: str, label: Label, position: int) -> Iterator[tuple[int, int]]:
    """Places of the values of a list: each in quotes."""
    for _ in range(_MOST_LISTED):
        found = value_at(text, position)
        if not found or not found.is_quoted:
            return
        if _is_given(text, label, found, is_colon=True):
            yield found.start, found.end
        gap = _LIST_GAP.match(text, found.end)
        if not gap:
            return
        position = gap.end()


def fitting_at(text: str, label: Label, position: int) -> tuple[int, int] | None:
    """The place of a value of several groups that its label names by its form: a seed, a password made by a provider."""
    if "totp" in label.kinds and (match := _BASE32.match(text, position)):
        return match.span() if " " in match[0] or "-" in match[0] or match[0].isupper() else None
    if "app" in label.word or "spec" in label.word or "anwend" in label.word:
        match = _FOUR_BY_FOUR.match(text, position)
        return match.span() if match else None
    return None


def fits(label: Label, value: str) -> bool:
    """Return whether a value is one of a kind that its label names by its form: a PIN, a base32 seed."""
    if "pin" in label.kinds and _PIN.fullmatch(value) and len(value) >= SHORTEST_PIN:
        return True
    return "totp" in label.kinds and len(value) >= 16 and bool(_BASE32.fullmatch(value))


def is_key_id(text: str, label: Label, value: str) -> bool:
    """Return whether a value names a key of PGP: its last digits after "key", which is no key of a service."""
    if label.kind != "key" or not _KEY_ID.fullmatch(value):
        return False
    return not _OF_A_SERVICE.search(text, label.name_start, label.name_end)


def _is_given(text: str, label: Label, found: Written, *, is_colon: bool) -> bool:
    value = found.text
    if fits(label, value):
        return True
    if is_ordinary(value) or is_caption(value) or len(value) < SHORTEST_GIVEN or value.lower() in ABOUT:
        return False
    name = text[label.name_start : label.name_end]
    is_name = value.endswith(":") and value[:-1].isalnum()
    if not found.is_quoted and (is_name or is_reference(value, is_shell=name.isupper())):
        return False
    if not found.is_quoted and _VARIABLE.fullmatch(value) and _is_unpacked(text, label):
        return False
    if label.kind == "weak" and is_of_network(text, label, found.end):
        return looks_chosen(value)
    if is_key_id(text, label, value):
        return False
    if label.kind in ("password", "key"):
        return _is_strong_given(text, label, found, is_colon=is_colon)
    if label.kind in ("token", "totp", "codes"):
        is_name = "session" in label.word and (is_uuid(value) or word_share(value) > 0.5)
        is_name = is_name or bool(_NUMBERED.fullmatch(value))
        return is_random(value) and not is_name and not (is_mundane(value) and not is_uuid(value))
    if label.kind == "weak" and _OF_CIPHER.search(text, max(0, label.start - 40), label.start):
        return is_random(value)
    is_public = is_identifier(value) or is_mundane(value) or bool(CACHE_KEY.match(value))
    return label.kind == "weak" and is_mixed(value) and not is_public


def _is_unpacked(text: str, label: Label) -> bool:
    """Return whether a label is one of several variables that are set at once: user, password = parts."""
    return bool(_UNPACKED.fullmatch(text, line_start(text, label.name_start, 160), label.name_start))


def _repeats(name: str, value: str) -> bool:
    """Return whether a value says its name again, as in ERROR_BAD_PASSWORD = "bad_password"."""
    plain = value.lower().replace("-", "_")
    return "_" in plain and plain in name.lower().replace("-", "_")


def _is_strong_given(text: str, label: Label, found: Written, *, is_colon: bool) -> bool:
    value = found.text
    if is_colon and not found.is_quoted and _CLASS.fullmatch(value):
        return False
    if label.kind == "key" and not found.is_quoted and value.isalpha() and value.islower():
        return False
    if (
        not found.is_quoted
        and value.isalpha()
        and value.isupper()
        and text.startswith("--", label.name_start)
    ):
        return False
    if not found.is_quoted and value.isdigit() and _FINAL.match(text, label.name_end):
        return False
    name = text[label.name_start : label.name_end]
    if found.is_quoted and (
        _CONSTANT.fullmatch(value) or value.lower() == name.lower() or _repeats(name, value)
    ):
        return False
    if found.is_quoted:
        is_code_name = is_reference(value, is_shell=False) and value.lower().replace("-", "_") == value
        return not is_sentence(value) and not (is_code_name and label.word in _PASS_WORDS)
    if is_colon:
        is_long = len(value) >= SHORTEST_CHOSEN
        return looks_chosen(value) or (
            is_long
            and label.kind == "password"
            and (
                "answer" in label.word or value.isdigit() or fills_its_line(text, label.name_start, found.end)
            )
            and (
                label.word not in _PASS_WORDS
                or bool(_ACCOUNT.search(text, max(0, label.start - 120), found.end + 120))
            )
        )
    return True


def _is_element(text: str, label: Label, found: Written) -> bool:
    closes = text[found.end : found.end + 2] in ("</", "]]") or text[found.end : found.end + 1] in ("<", "\n")
    return closes and _is_named(text, label, found)


def _is_named(text: str, label: Label, found: Written) -> bool:
    value = found.text
    if fits(label, value):
        return True
    if is_ordinary(value) or is_caption(value) or is_sentence(value):
        return False
    if len(value) < SHORTEST_GIVEN or value.lower() in ABOUT:
        return False
    if label.kind in ("password", "key"):
        return found.is_quoted or looks_chosen(value) or text[found.end : found.end + 2] in ("</", "]]")
    return is_random(value) and label.kind not in ("weak", "code") and not is_mundane(value)


def _is_in_call(text: str, label: Label, found: Written) -> bool:
    value = found.text.removesuffix("{enter}").removesuffix("\\r").removesuffix("\\n")
    if not found.is_quoted or is_sentence(value) or text[found.end + 1 : found.end + 2] == ":":
        return False
    setter = _SETTER.search(text, max(0, label.start - 40), found.start)
    if setter and label.kind == "password" and _WORD.fullmatch(value):
        return value.lower() not in ABOUT and not is_caption(value) and not is_ordinary(value)
    return _has_look(label, value)


def _is_in_cell(text: str, label: Label, found: Written) -> bool:
    value = found.text.rstrip("|")
    return fits(label, value) or _has_look(label, value)


def _has_look(label: Label, value: str) -> bool:
    """Return whether a value looks like what its label names: chosen as a password, generated as a key."""
    value = value.strip()
    if label.kind == "password":
        return looks_chosen(value)
    return label.kind in ("key", "token") and (is_mixed(value) or (is_strong(value) and len(value) >= 20))


def _is_flag(text: str, label: Label, found: Written) -> bool:
    """A value after a flag (`--password x`), or one that can be nothing else right after its label."""
    name = text[label.name_start : label.name_end]
    is_flag = name.startswith("--") or (name.startswith("-") and len(name) > 2)
    value = found.text
    if value.lower() in ABOUT or value.lower() in LABEL_WORDS:
        return False
    is_help = not found.is_quoted and found.start > label.name_end + 1 and not looks_chosen(value)
    if is_help or is_ordinary(value) or len(value) < SHORTEST_GIVEN:
        return False
    if is_flag and label.kind in ("password", "key"):
        return not is_mundane(value) or not value.isascii()
    return is_flag and label.kind == "token" and is_random(value)


def _is_quoted(text: str, label: Label, found: Written) -> bool:
    before = text[max(0, label.start - 40) : label.start]
    value = found.text
    if not found.is_quoted or is_ordinary(value) or " " in value or label.kind not in ("password", "key"):
        return False
    return looks_chosen(value) or bool(_SQL.search(before))
