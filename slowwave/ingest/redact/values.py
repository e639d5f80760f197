"""Values of labels: given (`password = x`), said ("the password is x"), or on the next line."""

import re
from collections.abc import Iterator
from typing import Final

from slowwave.ingest.redact import looks
from slowwave.ingest.redact.labels import TABLE, Label
from slowwave.ingest.redact.views import SIGN

REACH: Final = 320
"""Characters after a label in which its value begins."""
_FURTHEST: Final = 120
_MOST_WORDS: Final = 14
_LONG_ENOUGH: Final = 16
"""Characters of an identifier from which on it opens something where its label is a key."""
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
"""What may follow the value of a line of settings."""
_NEXT_FIELD = re.compile(r"[;&][\w -]{1,40}=|;\Z")
_NUMBER = re.compile(r"\d{3}-\d{2}-\d{4}|\d(?:[ -]?\d){2,9}#?(?![\w.,]\d|\w)")
_TOTP = re.compile(r"[A-Z2-7]{4}(?:[ -]?[A-Z2-7]{4}){3,15}(?![A-Za-z0-9])")
_PHRASE = re.compile(r"[^\W\d_]{3,12}(?: [^\W\d_]{3,12}){2,24}(?=[\s.]*(?:$|\n|[\"'`<,;)]))")
_FORMS: Final = {"pin": _NUMBER, "totp": _TOTP, "seed": _PHRASE}
"""The forms of values of which the kind of the label says what they look like."""
_LINE_LEFT = re.compile(
    r"[\"'`\])}*_]{0,4}[ \t]*(?:[^\n]{0,80}?[:：?？=][*_\"'`]{0,3}[ \t]*)?\n(?:[ \t>]*(?:```\w{0,12})?[ \t]*\n){0,2}"
)
_LINE = re.compile(r"[ \t>*•\"'`=-]{0,12}(?P<secret>[^\s\"'`][^\n\"'`]{2,400}?)[\"'`.,;]{0,2}[ \t]*(?:\n|\Z)")
_ATTACHED = re.compile(r"(?:['’]s)?(?:[は是为：:]|\)?:)?[ \t]{1,8}|[は是为：]|\Z|(?=[(,]?[ \t(])")
"""What stands between a label in a sentence and the next word."""
_WORD = re.compile(r"\S+")
_IS: Final = frozenset(("is", "was", "are", "=", ":", "ist", "lautet", "est", "es", "è", "é", "jest"))
_QUOTED = re.compile(r"[\"'`“«](?P<secret>[^\"'`“”«»\n]{4,120})[\"'`”»]")
_TOKENS: Final = frozenset(("token", "jwt", "pat", "bearer", "токен"))
_PUBLIC: Final = ("sha", "md5", "ssh-", "pk_", "AAAA")

Place = tuple[int, int]


def fits(value: str, label: Label, *, is_sure: bool = True) -> bool:
    """Return whether a value looks like what a label names; `is_sure` where a link or the place says that it is it."""
    if label.kind == "password":
        is_likely = looks.is_chosen(value) or looks.is_phrase(value) or (value.isdigit() and len(value) > 4)
        return looks.is_strong(value) or (is_sure and is_likely)
    if label.kind not in ("key", "token"):
        return False
    is_key = label.kind == "key" or label.word.rstrip("s") in _TOKENS
    if looks.is_identifier(value):
        is_public = label.kind == "token" and (value.isdigit() or value.startswith(_PUBLIC))
        return is_key and len(value) >= _LONG_ENOUGH and not is_public
    return looks.is_random(value) or (is_key and looks.is_strong(value))


def given(text: str, label: Label) -> Iterator[Place]:
    """The value behind a sign: `=`, a colon, a bracket, a stroke of a table, the name of an option."""
    start = label.start
    is_option = text[start] == "-" or label.word == "requirepass" or text.startswith("ENV ", start - 4)
    found = _OPTION.match(text, label.end, label.end + REACH) if is_option else None
    found = found or _SEPARATOR.match(text, label.end, label.end + REACH)
    before = text[max(text.rfind("\n", 0, start) + 1, start - 40) : start]
    needs = {"comma": "(", "stroke": "|"}
    if not found or any(found.groupdict().get(name) and sign not in before for name, sign in needs.items()):
        return
    if label.kind in _FORMS:
        yield from _formed(text, label, found.end())
        return
    end = text.find(found["quote"], found.end(), found.end() + 400) if found["quote"] else -1
    phrase = None if found["quote"] else _PHRASE.match(text, found.end())
    if end >= 0:
        place = found.end(), end
    elif phrase and _is_phrase(phrase[0], label) and phrase[0].count(" ") > 2:
        yield phrase.span()
        return
    elif not found["quote"] and (bare := _BARE.match(text, found.end())):
        place = bare.start(), bare.start() + len(_trimmed(bare[0]))
    else:
        return
    if _is_given(text, label, place, is_quoted=end >= 0):
        yield place


def _is_given(text: str, label: Label, place: Place, *, is_quoted: bool) -> bool:
    """Return whether a value behind a sign is one: nearly anything but what stands for a secret or names it."""
    value = text[place[0] : place[1]]
    if len(value) < (6 if label.kind == "key" else 3) or "\n" in value:
        return False
    if label.kind == "codes":
        return any(map(str.isdigit, value)) and value.replace("-", "").isalnum() and 4 <= len(value) <= 40
    if label.kind == "token":
        return fits(value, label) and " " not in value
    if looks.is_placeholder(value):
        return False
    if is_quoted:
        return not (" " in value and _SENTENCE.search(value))
    is_tight = text[label.end : label.end + 1] == "="
    is_variable = is_tight and label.is_name and text[label.start : label.end].isupper()
    if is_variable and value.replace("_", "").isalnum() and not value.isupper():
        return True
    return not looks.is_reference(value) and (
        not value.isalpha() or is_tight or _is_alone(text, label, place)
    )


def _is_alone(text: str, label: Label, place: Place) -> bool:
    """Return whether a plain word is all that a line assigns, and no word of a sentence."""
    begin = text.rfind("\n", max(0, label.start - 20), label.start) + 1
    is_first = not text[begin : label.start].strip(" \t-*<>\"'")
    return is_first and label.kind != "key" and bool(_FILLED.match(text, place[1]))


def _formed(text: str, label: Label, start: int) -> Iterator[Place]:
    """A value whose kind has a form: digits, groups of base 32, words."""
    found = _FORMS[label.kind].match(text, start)
    if found and (label.kind != "seed" or found[0].count(" ") > 10):
        yield found.span()


def said(text: str, label: Label) -> Iterator[Place]:
    """The value in a sentence: after a link ("is", "lautet"), in quotation marks, or so strong that it needs none."""
    attached = _ATTACHED.match(text, label.end)
    if not attached:
        return
    line_end = text.find("\n", label.end, label.end + REACH)
    line_end = min(len(text), label.end + REACH) if line_end < 0 else line_end
    is_linked = bool(attached[0].strip())
    for number, word in enumerate(_WORD.finditer(text, attached.end(), line_end)):
        plain = word[0].strip("*_,").lower()
        if number >= _MOST_WORDS or word.start() > label.end + _FURTHEST or SIGN in plain:
            return
        if _is_link(plain, number, label):
            is_linked = True
        elif is_linked and plain in _FILLERS:
            continue
        elif place := _spoken(text, label, word.start(), is_linked=is_linked or number == 0):
            yield place
            return
        elif is_linked and (number > 8 or (plain[-1:] in ".!?;" and plain[:-1].isalpha())):
            return


def _is_link(word: str, number: int, label: Label) -> bool:
    """Return whether a word says that the value comes; "pass" is too often a verb for more than the plainest."""
    is_colon = word[-1:] in ("：", ":", "=") and word[:-1].isalpha()
    return word in _IS or (label.word != "pass" and (is_colon or (word in _LINKS and number <= 3)))


def _spoken(text: str, label: Label, start: int, *, is_linked: bool) -> Place | None:
    if label.kind in _FORMS:
        return next(_formed(text, label, start), None) if is_linked else None
    if quoted := _QUOTED.match(text, start):
        value = quoted["secret"]
        is_value = is_linked and label.kind in ("password", "key") and looks.is_given(value)
        return quoted.span("secret") if is_value and (" " not in value or _is_phrase(value, label)) else None
    if label.word.endswith("phrase") and is_linked and (phrase := _PHRASE.match(text, start)):
        return phrase.span() if _is_phrase(phrase[0], label) else None
    bare = _BARE.match(text, start)
    value = _trimmed(bare[0]).rstrip(",.;:?") if bare else ""
    return (start, start + len(value)) if value and fits(value, label, is_sure=is_linked) else None


def _is_phrase(value: str, label: Label) -> bool:
    """Return whether words after a label can be a pass phrase: lower case, and no sentence about one."""
    is_plain = label.kind == "password" and value.islower()
    return is_plain and bool(_PHRASE.fullmatch(value)) and not _SENTENCE.search(value)


def below(text: str, label: Label) -> Iterator[Place]:
    """The value alone on the line under its label, or under the question for it."""
    left = _LINE_LEFT.match(text, label.end, label.end + REACH)
    line = _LINE.match(text, left.end()) if left else None
    if not left or not line or label.kind == "codes":
        return
    value, start = line["secret"].rstrip(), line.start("secret")
    if label.kind in _FORMS:
        yield from _formed(text, label, start)
    elif any(sign in value and sign in text[label.start - 1 : left.end()] for sign in ",;|"):
        return  # a table
    elif (" " not in value and fits(value, label)) or _is_phrase(value, label):
        yield start, start + len(value)
    elif "?" in left[0]:
        words = ((start + word.start(), word[0].strip(".,;")) for word in _WORD.finditer(value))
        yield from [(at, at + len(word)) for at, word in words if looks.is_strong(word)][:1]


def _trimmed(value: str) -> str:
    """A bare value without the brackets and signs of what it stands in."""
    value = value.rstrip(",;")
    while value and (value[-1] in _CLOSERS and _CLOSERS[value[-1]] not in value):
        value = value[:-1].rstrip(",;")
    field = _NEXT_FIELD.search(value)
    return value[: field.start()] if field else value
