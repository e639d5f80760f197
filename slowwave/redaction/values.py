"""Values under a secret's name that are no secret: placeholders, references, plain words, paths."""

import re

from slowwave.deferred import pattern
from slowwave.language.lexicon import NO_SECRET, STOP_WORDS
from slowwave.redaction.remembering import remembered
from slowwave.redaction.shapes import (
    SHORTEST_CHOSEN,
    SHORTEST_MIXED,
    SHORTEST_RANDOM,
    is_mundane,
    is_scattered,
    word_share,
)

_PLACEHOLDER = pattern(
    r"(?:.{0,3}\[redacted(?::[a-z-]+)?\]?(?:\\+[nrt]|\W)*"
    r"|<.*>?|\$\{.*|\$\(.*|[(\[{]?\$[A-Z_][A-Z0-9_]*\[?|[a-z]+_\*|\$[a-z_]+|%\w+%|%\(\w.*|%-?\d*[sdrfqvx]|@?\{.*|\[.*\]?"
    r"|[xX*.•…#_?=-]+|\.{3}.*|&lt;.*|[(\[{]?\$\w+(?:->|::|[.)\]}\[]).*|\$\d(?:[ ),;].*)?|&[a-z_]+\(.*|[A-Z_]{2,}=(?:value|\.\.\.|<|\$).*"
    r"|(?:your|my|the|some|insert|example|dummy|placeholder|replace|put|enter|add|fake|sample|dein|ihr|votre|ton|tu|su|seu|tuo"
    r"|il_tuo|jouw|uw|twoj|twój)[-_ ].*|<?(?:change|replace)[-_]?me.*|\*{3}.*"
    r"|(?:op|vault|secret|file|env|ssm)://?.*|ENC\[.*|!vault.*"
    r"|\\+\(.*|\([a-z].*)",
    re.IGNORECASE | re.DOTALL,
)
_REGEX = pattern(
    r"\\[sdwbSDW]|\[\^?\\?\w-|\(\?[:=!<]|\.\*|[.\])][*+](?=[\\)\[(.$/]|\Z)|\\u[0-9a-fA-F]{4}|\)\$(?:/|\Z)"
    r"|\\f[BIRP\d]|\\-|\\&\Z|\\&\.|%%?0A|%[sd]\S{0,2}%[sd]|\{print |->\w+\(|->\$\w|\A:\w+::|;return\b|=!\d;|\A[A-Z]<[^<>]*>"
)
"""Text for a program and no value: regular expressions, the escapes of roff, formats, code, marks of POD."""
_MADE_UP = pattern(r"\s%[sdr]\b|example\Z|EXAMPLE\Z|\A\S{0,12}\.{3}\Z|\A(?:fake|dummy)|/\{|\A--\w")
_KEYWORD_ARGUMENT = pattern(
    r"[a-z]+(?:[A-Z][a-z]+|_[a-z]+)*=(?:[A-Za-z_.]*|\[.*)|[a-z]+(?:_[a-z]+)+=\d+|[a-z]+=\d{1,3}|charset=\S+|-?[A-Z]+(?:_[A-Z\d]+)+=\d{1,4}|[a-z]+(?:\|[a-z]+)+"
)
_SETTING = pattern(r"[A-Z][A-Z0-9_]{2,40}=(?=.)")
_NAMES_OF_SECRETS = frozenset(
    {"password", "passwd", "pass", "pwd", "pw", "secret", "token", "passwort", "user", "username"}
)
_HASH_NAME = pattern(
    r"(?:scram-)?(?:sha|md|bcrypt|scrypt|yescrypt|argon|pbkdf|base|utf|aes|rsa|hmac|oauth|jwt|uuid|ed)"
    r"-?\d*(?:id|[di]|-\d+|crypt)?(?:-(?:cbc|gcm|ctr|plus))?",
    re.IGNORECASE,
)
_LOWER_PATH = pattern(
    r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][A-Za-z0-9._@-]*)+|(?:[a-z0-9._-]+/)+[a-z0-9_-]+\.[a-z]{1,5}"
)
_URL = pattern(r"[a-z][a-z0-9+.-]*://[^@]*", re.IGNORECASE)
_CALL = pattern(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){1,9}[(\[]|[A-Za-z_][A-Za-z_.]*(?:\d{1,3}[a-z_]+)?(?:\.\w+)*[(\[]"
)
_CODE_ROOT = pattern(
    r"(?:self|this|settings|config|conf|cfg|os|sys|process|env|args|opts|options|params|req|request|res|response|user|form"
    r"|data|ctx|context|secrets|credentials|creds|event|body|props|state|app|import|account|client|session|values|var"
    r"|local|each|module|Settings|Config|System|Environment)(?:\?)?(?:\.|->|::|\[).*",
)
_REFERENCE = pattern(
    r"\.[a-z_]\w*\(.*|\w+->\w.*|[a-z_]\w*(?:\.\w+)*\.[A-Z][A-Za-z]*|[a-z]\w*\.[a-z]+(?:_[a-z]+)+|[a-z]\w*\._\w+|"
    r"[A-Z][a-z]+(?:\.[a-z_]+){2,}|[A-Za-z_][\w<>:.]*(?:::[\w<>:]+)?\(.*\)|[A-Za-z_][\w<>]*::.*|[a-z_]\w*(?:\.[a-z_]\w*)*\.[A-Z][A-Z_]+|"
    r"(?:[a-z]+_\w+|data|module|resource|local|each|values|inputs|outputs|needs|steps|matrix|stdenv)\.[a-z_][\w.\[\]-]*"
    r"|[a-z_]\w*(?:\.[A-Za-z_]\w*)*\.[A-Z]\w*[a-z]"
    r"|[a-z_]\w*(?:\.[a-z_]\w*)+:[a-z_]\w*|[a-z]{1,3}\.[A-Z][A-Za-z]{1,20}\d{0,2}|\*{1,2}[a-z_]\w*"
    r"|[A-Za-z_]\w*(?:(?:\.|->|::)\w+)*(?:\.|->|::)(?:password|passwd|pwd|pass|secret|token|key|credentials?)s?|[a-z]+(?:\.[a-z_]+){2,}"
    r"|(?:Read|Get|New|Import|ConvertTo|ConvertFrom|Convert|Invoke|Select)-[A-Z][A-Za-z]+"
)
_NAMED_LIKE_SECRET = pattern(
    r"(?:[A-Za-z]+_)+(?i:password|passwd|pwd|pass|secret|token|key|hash|credentials?)s?"
    r"|[A-Z]+(?:_[A-Z]+)+(?:_\d{1,2})?|[a-z]+(?:_[a-z]+)+_?\d{1,2}"
    r"|[A-Za-z][a-z0-9]*(?:[A-Z][a-z0-9]+)*(?:Password|Passwd|Pwd|Secret|Token|Key|Hash)s?"
)
_CLASS_NAME = pattern(r"(?:[A-Z]{1,4}[a-z]{1,20}\d?){3,10}(?<=[a-z])")
_VARIABLE = pattern(r"_?[a-z]+(?:_[a-z]+)+")
_FUNCTION_WORD = pattern(
    r"\b(?:is|are|was|the|your|you|must|should|an?|be|enter|required|please|not|for|of|to|cannot|can|with|this|has)\b",
    re.IGNORECASE,
)
_PHRASE = pattern(r"[a-z]{3,12}(?P<joint>[-_.])[a-z]{3,12}(?:(?P=joint)[a-z]{3,12}){2,7}")
_PROGRAM_WORDS = frozenset(
    [
        "access",
        "account",
        "add",
        "admin",
        "api",
        "app",
        "auth",
        "base",
        "body",
        "branch",
        "build",
        "bucket",
        "change",
        "client",
        "code",
        "column",
        "config",
        "create",
        "credential",
        "current",
        "data",
        "database",
        "default",
        "delete",
        "error",
        "file",
        "first",
        "form",
        "get",
        "group",
        "hash",
        "host",
        "http",
        "index",
        "input",
        "int",
        "item",
        "key",
        "last",
        "like",
        "line",
        "list",
        "local",
        "log",
        "login",
        "main",
        "map",
        "max",
        "message",
        "min",
        "mode",
        "model",
        "must",
        "name",
        "new",
        "node",
        "number",
        "object",
        "only",
        "open",
        "option",
        "output",
        "page",
        "param",
        "pass",
        "password",
        "path",
        "pod",
        "port",
        "private",
        "prod",
        "public",
        "read",
        "release",
        "remove",
        "request",
        "reset",
        "response",
        "role",
        "root",
        "rule",
        "schema",
        "script",
        "secret",
        "send",
        "server",
        "service",
        "set",
        "should",
        "size",
        "source",
        "stage",
        "start",
        "status",
        "step",
        "store",
        "string",
        "sub",
        "table",
        "template",
        "temp",
        "test",
        "text",
        "time",
        "token",
        "type",
        "update",
        "url",
        "user",
        "value",
        "version",
        "view",
        "web",
        "with",
        "write",
        "your",
    ]
)
"""Words of the names of programs: a phrase that was drawn from a list seldom has one."""
_LINE_START = pattern(r"[\s>*|\"'`#+-]*[\w.-]*")
_PART = pattern(r"[^A-Za-z0-9]")
_CLOSERS = {")": "(", "]": "[", "}": "{", ">": "<"}
_LONGEST_ORDINARY = 120
_LINE_REACH = 64

SHORTEST_GIVEN = 4
MOST_WORDS = 0.7
"""Share of spoken words from which a text of letters alone is a name and no key."""
SHORTEST_SAID_KEY = 12


@remembered
def is_ordinary(value: str, *, words: bool = True) -> bool:
    """Return whether a value is a placeholder, a mask, a path or (with `words`) a plain word."""
    if len(value) > _LONGEST_ORDINARY:
        return False
    if _REGEX.search(value) or _MADE_UP.search(value) or _KEYWORD_ARGUMENT.fullmatch(value):
        return True
    setting = _SETTING.match(value)
    if _PLACEHOLDER.fullmatch(value) or (setting and _PLACEHOLDER.fullmatch(value, setting.end())):
        return True
    if not words:
        return value.lower() in _NAMES_OF_SECRETS
    is_path = _LOWER_PATH.fullmatch(value) and (value.count("/") + value.count("\\") > 1 or "." in value)
    plain = value.strip(".,;:!?)(*_").lower()
    return bool(
        is_path or _URL.fullmatch(value) or plain in NO_SECRET or _HASH_NAME.fullmatch(plain) or not plain
    )


@remembered
def is_reference(value: str, *, is_shell: bool) -> bool:
    """Return whether a bare value is code that names a secret: a call, an attribute, a variable.

    In a shell assignment (`is_shell`) a lower-case word with underscores is a value, elsewhere a variable.
    """
    if len(value) > _LONGEST_ORDINARY:
        return False
    if any(is_scattered(part) and not is_mundane(part) for part in _PART.split(value)):
        return False
    if (
        _CALL.match(value)
        or _CODE_ROOT.fullmatch(value)
        or _NAMED_LIKE_SECRET.fullmatch(value)
        or _REFERENCE.fullmatch(value)
    ):
        return True
    return not is_shell and bool(_VARIABLE.fullmatch(value))


@remembered
def is_phrase(value: str) -> bool:
    """Return whether it is a pass phrase in one word: four words or more from a list, none of them of a program's."""
    if not _PHRASE.fullmatch(value):
        return False
    words = set(re.split(r"[-_.]", value))
    return words.isdisjoint(STOP_WORDS) and words.isdisjoint(_PROGRAM_WORDS)


def is_sentence(value: str) -> bool:
    """Return whether a quoted value is a sentence about a secret and not a pass phrase."""
    return value.count(" ") > 1 and bool(_FUNCTION_WORD.search(value[:200]))


def looks_chosen(value: str) -> bool:
    """Return whether a word looks like a password: six characters or more, letters and digits or signs, or a phrase."""
    if is_phrase(value):
        return True
    if (
        len(value) < SHORTEST_CHOSEN
        or is_ordinary(value)
        or is_reference(value, is_shell=False)
        or is_mundane(value)
    ):
        return False
    if _CLASS_NAME.fullmatch(value) and word_share(value) >= MOST_WORDS:
        return False
    has_letter = any(character.isalpha() for character in value)
    return has_letter and any(character.isdigit() or character in "!@#$%^&*+" for character in value)


def is_random(value: str) -> bool:
    """Return whether a value looks generated: eight characters with letters and digits, or 20 in mixed case."""
    if len(value) < SHORTEST_RANDOM or is_ordinary(value) or " " in value[:_LONGEST_ORDINARY]:
        return False
    has_letter = any(character.isalpha() for character in value)
    if has_letter and any(character.isdigit() for character in value):
        return True
    return (
        len(value) >= SHORTEST_MIXED
        and value.lower() != value != value.upper()
        and word_share(value) < MOST_WORDS
    )


def fills_its_line(text: str, start: int, end: int) -> bool:
    """Return whether that is all there is on its line, as in a list of settings, and not part of a sentence."""
    line_start = text.rfind("\n", max(0, start - _LINE_REACH), start) + 1
    if line_start == 0 and start > _LINE_REACH:
        return False
    after = text[end : end + 8].lstrip(" \t\"'")
    return bool(_LINE_START.fullmatch(text[line_start:start])) and (not after or after[0] in "\r\n,")


def without_closers(value: str) -> str:
    """A bare value without closing brackets that it did not open and the full stop of its sentence."""
    value = value.rstrip(".")
    while value and value[-1] in _CLOSERS and _CLOSERS[value[-1]] not in value[-_LONGEST_ORDINARY:]:
        value = value[:-1].rstrip(".")
    return value
