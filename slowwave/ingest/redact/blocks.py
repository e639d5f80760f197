"""Blocks that are secrets as a whole or in each of their lines: private keys, and Secrets of Kubernetes."""

import re
from collections.abc import Iterator
from typing import Final

from slowwave.ingest.redact import looks

_BORDER = re.compile(
    r"-----?[ ]?(?P<side>BEGIN|END) (?![^\n-]{0,30}(?i:public|certificate|signature|message))[\w .-]{0,40}(?i:key|secret|psk)[\w .]{0,16}-----?"
)
"""The first or last line of a key, whatever program names it: all but public ones."""
_HEAD = r"(?:[\s\"'`+,>|*#.;\\()-]|\\+[nrt\"]|\d{1,6}[→:|])"
_LINES = re.compile(
    rf"(?:{_HEAD}{{0,80}}+(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash)\\?: [^\n\\]{{0,120}}|[A-Za-z0-9+/=]{{16,}}+))+"
    r"(?:(?:\s|\\+[nrt])[A-Za-z0-9+/=]{1,15}(?=[\s\"'`\\]|\Z))?"
)
_BODY = re.compile(r"[A-Za-z0-9+/=]{16}")
_TAIL = re.compile(r"(?:[A-Za-z0-9+/]{40,76}={0,2}\n[ \t]{0,8}){0,80}[A-Za-z0-9+/]{4,76}={0,2}\n[ \t]{0,8}\Z")
_LONGEST: Final = 20_000
_TAIL_REACH: Final = 6_000
_PUTTY = re.compile(
    r"Private-Lines: \d{1,3}\s{1,24}(?P<secret>(?:[A-Za-z0-9+/=]{1,80}\s{1,24}){1,80}(?:Private-MAC: [0-9a-f]{40,64})?)"
)
_OBJECT = re.compile(
    r"(?<![\w.])kind[\"']?:[ \t]{0,4}[\"']?(?:Secret|SealedSecret)\b|\"kind\":\s{0,2}\"Secret\""
)
_DATA = re.compile(r"(?m)^(?P<indent>[ \t]{0,16})[\"']?(?:stringData|data)[\"']?:[ \t]{0,4}\{?[ \t]{0,4}\n")
_ENTRY = re.compile(
    r"(?P<indent>[ \t]{1,24})[\"']?[\w.-]{1,100}[\"']?:[ \t]{1,4}[\"']?(?:[|>][+-]?[ \t]*\n)?(?P<secret>[^\s\"',#|>](?:(?!</)[^\s\"',]){3,4000})[^\n]*(?:\n|\Z)"
)
_MOST_ENTRIES: Final = 60


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Places of private keys: whole, cut off before their end, or without their begin."""
    borders = list(_BORDER.finditer(text)) if "BEGIN " in text or "END " in text else []
    done = 0
    for number, border in enumerate(borders):
        if border.start() < done:
            continue
        closing = borders[number + 1] if number + 1 < len(borders) else None
        if border["side"] == "END":
            if tail := _TAIL.search(text, max(done, border.start() - _TAIL_REACH), border.start()):
                yield tail.start(), border.end()
            done = border.end()
        elif closing and closing["side"] == "END" and closing.end() - border.start() < _LONGEST:
            done = closing.end()
            if _BODY.search(text, border.end(), closing.start()):
                yield border.start(), done
        elif lines := _LINES.match(text, border.end()):
            done = lines.end()
            yield border.start(), done
    if "Private-Lines" in text:
        yield from ((found.start("secret"), found.end("secret")) for found in _PUTTY.finditer(text))


def secret_objects(text: str) -> Iterator[tuple[int, int]]:
    """Places of the values of a Kubernetes Secret: each of its data, in base64 or plain."""
    done = 0
    for head in _OBJECT.finditer(text) if "Secret" in text else ():
        if head.start() < done:
            continue
        begin = max(done, head.start() - 3000, text.rfind("\n---", max(0, head.start() - 3000), head.start()))
        done = text.find("\n---", head.end(), head.end() + _LONGEST)
        done = min(len(text), head.end() + _LONGEST) if done < 0 else done
        for data in _DATA.finditer(text, begin, done):
            yield from _entries(text, data.end(), done, len(data["indent"]))


def _entries(text: str, place: int, end: int, indent: int) -> Iterator[tuple[int, int]]:
    for _ in range(_MOST_ENTRIES):
        entry = _ENTRY.match(text, place, end)
        if not entry or len(entry["indent"]) <= indent:
            return
        if not looks.is_placeholder(entry["secret"]):
            yield entry.span("secret")
        place = entry.end()
