"""Values of labels: given (`password = x`), said ("the password is x"), before it ("x is the password"), on the next line."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from slowwave.ingest.redact import looks
from slowwave.ingest.redact.labels import TABLE, Label
from slowwave.ingest.redact.views import SIGN

REACH: Final = 320
"""Characters after a label in which its value begins."""
_BACK: Final = 160
_FURTHEST: Final = 60
_MOST_WORDS: Final = 14
_LINKS: Final = frozenset(TABLE["links"])
_FILLERS: Final = frozenset(TABLE["fillers"])
_SEPARATOR = re.compile(
    r"""(?x)
    \\?["'`\])}]{0,3}(?:\*\*|__)?[ \t]{0,16}
    (?::[ ]?[A-Za-z&'][\w.\[\]|&' ?]{0,40}?[ ]{0,4}(?==[^=]))?                    # the type of a variable
    (?:
      ["']?[ ]?\{\s{1,40}(?:default|value)["']?[ ]{0,4}[:=]                        # a variable of Terraform
      | (?:[,;]\s{0,20}|\s{1,20})\\?["']?value\\?["']?[ ]{0,4}[:=]                             # name and value apart
      | </\w{1,12}>\s{0,8}<\w{1,12}[^<>\n]{0,40}> | >(?=[^\s<>])                   # elements
      | (?P<comma>,)[ \t]{0,16}(?=\\?["']) | (?:[:=]{1,2}[ ]{0,4}[\w.\[\]]{0,24})?\(\s{0,3}(?:(?:default|value|text|data)=)?(?=[bBN@]?\\?["'])   # arguments
      | [ \t]{1,16}(?=["'`]) | :=|===?|\?=|=>|->|→|<-|\?\?|(?P<stroke>\|)(?=[ \t])|[:：=]
    )
    [ \t]{0,24}(?:\$\{\w{1,40}:?[-=])?(?:[bBfruN@](?=["'`]))?(?P<quote>["'`]?)"""
)
_OPTION = re.compile(r"[ =]{1,4}(?P<quote>[\"'`]?)")
_BARE = re.compile(r"[^\s\"'`<>]++")
_CLOSERS: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
_SENTENCE = re.compile(
    r"\b(?:is|are|was|the|your|you|must|should|be|enter|required|please|not|for|of|to|cannot|can|with|this|has|passwor[dt]|mot de passe)\b",
    re.IGNORECASE,
)
_FILLED = re.compile(r"[\"'`)};,]{0,3}[ \t]*(?:$|\\?[nr\"']|#|//|--|,|;|&|<)", re.MULTILINE)
_FILLED_IN = re.compile(r"\$\{|\$\(|\$[A-Z_]+\Z|\{\{|<|%\(\w|(?:os|process|self|config|settings)\.")
_AFTER_TIGHT: Final = frozenset(("", " ", "\t", "\n", ";", '"', "'"))
"""What follows a value of `NAME=word`, and no argument of a call."""
_NEXT_FIELD = re.compile(r"[;&][\w -]{1,40}=|;\Z")
_NUMBER = re.compile(r"\d{3}-\d{2}-\d{4}|\d(?:[ -]?\d){2,9}#?(?![\w.,]\d|\w)")
_TOTP = re.compile(r"[A-Z2-7]{4}(?:[ -]?[A-Z2-7]{4}){3,15}(?![A-Za-z0-9])")
_PHRASE = re.compile(r"[^\W\d_]{3,12}(?: [^\W\d_]{3,12}){2,24}(?=[\s.]*(?:$|\n|[\"'`<,;)]))")
_FORMS: Final = {"pin": _NUMBER, "totp": _TOTP, "seed": _PHRASE}
"""The forms of values of which the kind of the label says what they look like."""
_ACCOUNT_PAIR = re.compile(
    r"[^\n/]{0,40}?(?<![\w.@+-])[\w.@+-]{2,64}[ ]?[/:|,][ ]?[\"'`]?(?P<secret>[^\s\"'`]{4,80})"
)
_BEFORE = re.compile(
    r"(?P<secret>[^\s\"'`]{6,120})[\"'`]?[ ]+(?:is|as|was|for|ist|als|war|est|comme|es|como|è|come|é|jest|to|jako|-|=)[ ]+(?:[^\s\d]{1,14}[ ]+){0,3}(?:[^\s\d]{1,12}[ ])?\Z"
)
_LINE_LEFT = re.compile(
    r"[\"'`\])}*_]{0,4}[ \t]*(?:[^\n]{0,80}?[:：?？=][*_\"'`]{0,3}[ \t]*)?\n(?:[ \t>]*(?:```\w{0,12})?[ \t]*\n){0,2}"
)
_LINE = re.compile(r"[ \t>*•\"'`=-]{0,12}(?P<secret>[^\s\"'`][^\n\"'`]{2,400}?)[\"'`.,;]{0,2}[ \t]*(?:\n|\Z)")
_ATTACHED = re.compile(r"(?:['’]s)?(?:[は是为：:]|\)?:)?[ \t]{1,8}|[は是为：]|\Z|(?=[(,]?[ \t(])")
"""What stands between a label in a sentence and the next word."""
_WORD = re.compile(r"\S+")
_IS: Final = frozenset(("is", "was", "are", "=", ":", "ist", "lautet", "est", "es", "è", "é", "jest"))
_QUOTED = re.compile(r"[\"'`“«](?P<secret>[^\"'`“”«»\n]{4,120})[\"'`”»]")

Place = tuple[int, int]


def given(text: str, label: Label) -> Iterator[Place]:
    """The value behind a sign: `=`, a colon, a bracket, a stroke of a table, the name of an option."""
    is_option = (
        text[label.start] == "-" or label.word == "requirepass" or text.startswith("ENV ", label.start - 4)
    )
    found = (_OPTION if is_option else _SEPARATOR).match(text, label.end, label.end + REACH)
    if not found and is_option:
        found = _SEPARATOR.match(text, label.end, label.end + REACH)
    before = text[max(text.rfind("\n", 0, label.start) + 1, label.start - 40) : label.start]
    needs = {"comma": "(", "stroke": "|"}
    if not found or any(found.groupdict().get(name) and sign not in before for name, sign in needs.items()):
        return
    if label.kind == "login":
        yield from _pair(text, found.end())
    elif label.kind in _FORMS:
        yield from _formed(text, label, found.end())
    elif found["quote"]:
        end = text.find(found["quote"], found.end(), found.end() + 400)
        yield from _judged(text, label, (found.end(), end if end >= 0 else found.end()), is_quoted=True)
    elif (
        (phrase := _PHRASE.match(text, found.end()))
        and _is_phrase(phrase[0], label)
        and phrase[0].count(" ") > 2
    ):
        yield phrase.span()
    elif bare := _BARE.match(text, found.end()):
        yield from _judged(
            text, label, (bare.start(), bare.start() + len(_trimmed(bare[0]))), is_quoted=False
        )


def _judged(text: str, label: Label, place: Place, *, is_quoted: bool) -> Iterator[Place]:
    value = text[place[0] : place[1]]
    if (
        len(value) < 3
        or "\n" in value
        or (is_quoted and " " in value and (_SENTENCE.search(value) or label.kind == "token"))
    ):
        return
    elif _ACCEPTS[label.kind](value, text, place, label, is_quoted):
        yield place


def _is_password(value: str, text: str, place: Place, label: Label, is_quoted: bool) -> bool:
    if looks.is_placeholder(value):
        return False
    is_env = (
        label.is_name and text[label.start : label.end].isupper() and text[label.end : label.end + 1] == "="
    )
    if is_quoted or (is_env and value.replace("_", "").isalnum() and not value.isupper()):
        return not _FILLED_IN.match(value)
    if looks.is_reference(value):
        return False
    begin = text.rfind("\n", max(0, label.start - 20), label.start) + 1
    is_first = (
        not text[begin : label.start].strip(" \t-*<>\"'")
        or is_env
        or (label.is_name and text[label.start - 1 : label.start] in (">", '"', "'"))
    )
    if not value.isalpha() or (is_first and _FILLED.match(text, place[1])):
        return True
    return text[label.end : label.end + 1] == "=" and text[place[1] : place[1] + 1] in _AFTER_TIGHT


def _is_key(value: str, text: str, place: Place, label: Label, is_quoted: bool) -> bool:
    if len(value) < 6 or not _is_password(value, text, place, label, is_quoted):
        return False
    return (
        not value.isalpha() or is_quoted or text[label.end : label.end + 1] == "=" or looks.is_random(value)
    )


def _is_token(value: str, text: str, place: Place, label: Label, is_quoted: bool) -> bool:
    is_token = label.word.rstrip("s") in ("token", "jwt", "pat", "bearer", "токен")
    if looks.is_identifier(value):
        return (
            is_token
            and len(value) >= 16
            and not value.isdigit()
            and not value.startswith(("sha", "md5", "ssh-", "pk_", "AAAA"))
        )
    return looks.is_random(value) or (is_token and looks.is_strong(value))


def _is_given_token(value: str, text: str, place: Place, label: Label, is_quoted: bool) -> bool:
    if _is_token(value, text, place, label, is_quoted):
        return True
    is_named = (
        label.is_name
        and label.word == "token"
        and (is_quoted or text[label.end : label.end + 1] in ("=", ">"))
    )
    return is_named and (looks.is_chosen(value) or looks.is_phrase(value))


def _is_code(value: str, text: str, place: Place, label: Label, is_quoted: bool) -> bool:
    return any(map(str.isdigit, value)) and value.replace("-", "").isalnum() and 4 <= len(value) <= 40


_ACCEPTS: Final[dict[str, Callable[[str, str, Place, Label, bool], bool]]] = {
    "password": _is_password,
    "key": _is_key,
    "token": _is_given_token,
    "codes": _is_code,
}


def _formed(text: str, label: Label, start: int) -> Iterator[Place]:
    """A value whose kind has a form: digits, groups of base 32, words."""
    if (found := _FORMS[label.kind].match(text, start)) and (
        label.kind != "seed" or found[0].count(" ") > 10
    ):
        yield found.span()


def said(text: str, label: Label) -> Iterator[Place]:
    """The value in a sentence: after a link ("is", "lautet"), in quotation marks, or so strong that it needs none."""
    if label.kind == "login":
        yield from _pair(text, label.end)
        return
    attached = _ATTACHED.match(text, label.end)
    if not attached:
        return
    line_end = text.find("\n", label.end, label.end + REACH)
    line_end = min(len(text), label.end + REACH) if line_end < 0 else line_end
    is_linked = bool(attached[0].strip())
    for number, word in enumerate(_WORD.finditer(text, attached.end(), line_end)):
        plain = word[0].strip("*_,").lower()
        if number >= _MOST_WORDS or word.start() > label.end + 2 * _FURTHEST:
            return
        if SIGN in plain:
            return
        if (
            plain in _IS
            or (plain in _LINKS and number <= 3 and label.word != "pass")
            or (label.word != "pass" and plain[-1:] in ("：", ":", "=") and plain[:-1].isalpha())
        ):
            is_linked = True
        elif is_linked and plain in _FILLERS:
            continue
        elif place := _spoken(text, label, word.start(), is_linked=is_linked or number == 0):
            yield place
            return
        elif (is_linked and plain[-1:] in ".!?;" and plain[:-1].isalpha()) or (is_linked and number > 8):
            return


def _spoken(text: str, label: Label, start: int, *, is_linked: bool) -> Place | None:
    if quoted := _QUOTED.match(text, start):
        is_value = (
            looks.is_given(quoted["secret"])
            and is_linked
            and (" " not in quoted["secret"] or _is_phrase(quoted["secret"], label))
        )
        return quoted.span("secret") if is_value and label.kind in ("password", "key") else None
    if label.kind in _FORMS:
        return next(_formed(text, label, start), None) if is_linked else None
    if label.word.endswith("phrase") and is_linked and (phrase := _PHRASE.match(text, start)):
        return phrase.span() if _is_phrase(phrase[0], label) else None
    bare = _BARE.match(text, start)
    value = _trimmed(bare[0]).rstrip(",.;:?") if bare else ""
    if not value or not bare:
        return None
    if label.kind in ("token", "key"):
        is_value = _is_token(value, text, (start, start), label, False) or (
            label.kind == "key"
            and (looks.is_strong(value) or (len(value) >= 16 and looks.is_identifier(value)))
        )
    elif label.kind == "codes":
        return None
    else:
        is_number = is_linked and len(value) >= 5 and value.isdigit()
        is_value = (
            looks.is_strong(value)
            or is_number
            or (is_linked and (looks.is_chosen(value) or looks.is_phrase(value)))
        )
    return (bare.start(), bare.start() + len(value)) if is_value else None


def _is_phrase(value: str, label: Label) -> bool:
    """Return whether words after a label can be a pass phrase: lower case, and no sentence about one."""
    return (
        label.kind == "password"
        and value.islower()
        and bool(_PHRASE.fullmatch(value))
        and not _SENTENCE.search(value)
    )


def before(text: str, label: Label) -> Iterator[Place]:
    """The value in front of its label: "x is the password", "use x as the token"."""
    begin = max(text.rfind("\n", max(0, label.start - _BACK), label.start) + 1, label.start - _BACK, 0)
    found = _BEFORE.search(text, begin, label.start)
    if found and label.kind in ("password", "key", "token"):
        accepts = looks.is_chosen if label.kind == "password" else looks.is_random
        if accepts(found["secret"].rstrip(",.;:")):
            yield found.span("secret")


def below(text: str, label: Label) -> Iterator[Place]:
    """The value alone on the line under its label, or under the question for it."""
    left = _LINE_LEFT.match(text, label.end, label.end + REACH)
    line = _LINE.match(text, left.end()) if left else None
    if not left or not line:
        return
    value, start = line["secret"].rstrip(), line.start("secret")
    if label.kind in _FORMS:
        yield from _formed(text, label, start)
    elif label.kind in ("login", "codes"):
        return
    elif any(sign in value and sign in text[label.start - 1 : left.end()] for sign in ",;|"):
        return  # a table
    elif " " not in value:
        is_key = label.kind == "key" and (
            (looks.is_identifier(value) and len(value) >= 16) or looks.is_chosen(value)
        )
        is_password = label.kind == "password" and (looks.is_chosen(value) or looks.is_phrase(value))
        if is_key or is_password or _is_token(value, text, (start, start), label, False):
            yield start, start + len(value)
    elif _is_phrase(value, label):
        yield start, start + len(value)
    elif "?" in left[0] and (
        found := next((word for word in _WORD.finditer(value) if looks.is_strong(word[0].strip(".,;"))), None)
    ):
        yield start + found.start(), start + found.start() + len(found[0].strip(".,;"))


def _pair(text: str, start: int) -> Iterator[Place]:
    """The password of a user and a password after a word for an account."""
    line_end = text.find("\n", start, start + REACH)
    found = _ACCOUNT_PAIR.match(text, start, line_end if line_end >= 0 else start + REACH)
    if found and looks.is_chosen(value := _trimmed(found["secret"]).rstrip(",.")) and "//" not in value:
        yield found.start("secret"), found.start("secret") + len(value)


def _trimmed(value: str) -> str:
    """A bare value without the brackets and signs of what it stands in."""
    value = value.rstrip(",;")
    while value and (value[-1] in _CLOSERS and _CLOSERS[value[-1]] not in value):
        value = value[:-1].rstrip(",;")
    field = _NEXT_FIELD.search(value)
    return value[: field.start()] if field else value
