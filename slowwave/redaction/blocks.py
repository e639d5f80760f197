"""Blocks that are secrets as a whole or in each of their lines: private keys, and objects named after secrets."""

from collections.abc import Iterator

from slowwave.deferred import pattern
from slowwave.redaction.shapes import is_mixed, is_mundane
from slowwave.redaction.values import is_ordinary, is_reference

_KEY_BORDER = pattern(
    r"-----?[ ]?(?P<side>BEGIN|END) (?![^\n-]{0,30}(?i:public|certificate|signature))[\w .-]{0,40}(?i:key|secret|psk)[\w .]{0,16}-----?"
)
"""The first or last line of a block that holds a key, whatever program names it: all but public keys."""
_KEY_LINES = pattern(
    r"(?:(?:[\s\"'`+,>|*#.;\\()-]|\\+[nrt\"]|\d{1,6}[→:|]){0,80}+"
    r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash)\\?: [^\n\\]{0,120}|[A-Za-z0-9+/=]{16,}+))+"
    r"(?:(?:\s|\\+[nrt])[A-Za-z0-9+/=]{1,15}(?=[\s\"'`\\]|\Z))?"
)
_KEY_TAIL = pattern(
    r"(?m)^[ \t>]{0,8}(?:[A-Za-z0-9+/]{40,76}={0,2}\r?\n[ \t>]{0,8}){0,80}[A-Za-z0-9+/]{4,76}={0,2}\r?\n[ \t>]{0,8}\Z"
)
_KEY_BODY = pattern(r"[A-Za-z0-9+/=]{16}")
_KEY_TAIL_REACH = 6_000
_KEY_MAX_LENGTH = 20_000
_PUTTY = pattern(
    r"PuTTY-User-Key-File-\d[^\n]{0,80}\n(?:[^\n]{0,200}\n){1,80}?Private-Lines: \d{1,3}\n(?P<secret>(?:[A-Za-z0-9+/=]{1,64}\n){1,80})"
)
_SECRET_OBJECT = pattern(
    r"(?m)^[ \t\"'-]{0,8}kind[\"']?:[ \t]{0,4}[\"']?(?:Secret|SealedSecretData)\b|\"kind\":\s{0,2}\"Secret\""
)
_DATA = pattern(r"(?m)^(?P<indent>[ \t]{0,16})[\"']?(?:stringData|data)[\"']?:[ \t]{0,4}\{?[ \t]{0,4}\n")
_ENTRY = pattern(
    r"[ \t]{1,24}[\"']?[\w.-]{1,100}[\"']?:[ \t]{1,4}[\"']?(?P<secret>[^\s\"',#|>][^\s\"',]{3,4000})[\"',]{0,2}[ \t]*(?:\n|\Z)"
)
_FOLDED = pattern(
    r"[ \t]{1,24}[\"']?[\w.-]{1,100}[\"']?:[ \t]{1,4}[|>][+-]?[ \t]{0,4}\n(?P<secret>(?:[ \t]{2,32}\S[^\n]{0,400}(?:\n|\Z)){1,100})"
)
_SECTION = pattern(
    r"(?im)^(?P<indent>[ \t]{0,16})(?:[\"']?(?:[\w-]{0,24}[_-])?(?:secrets?|credentials|passwords|api_?keys|tokens|auths|secret_?environment)[\"']?[ \t]{0,4}[:=][ \t]{0,4}\{?|"
    r"\[(?:[\w.-]{0,30}\.)?(?:secrets?|credentials|passwords|api_?keys|tokens)\])[ \t]{0,4}\n"
)
_LEAF = pattern(
    r"(?P<name>[ \t]{0,32}[\"']?[\w.@/-]{1,100}[\"']?[ \t]{0,8}(?::|=>?)[ \t]{0,8})(?:[\"'](?P<double>[^\"'\n]{4,400})[\"']|(?P<bare>[^\s\"',{}\[\]]{4,400}))?[^\n]{0,400}(?:\n|\Z)"
)
_MOST_ENTRIES = 60


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Places of private keys in text form: whole, cut off before their end, or with line breaks as backslash n."""
    if any(border in text for border in ("-BEGIN ", "-END ", "- BEGIN ", "- END ")):
        borders = list(_KEY_BORDER.finditer(text))
        done = 0
        for index, border in enumerate(borders):
            if border.start() < done:
                continue
            if border["side"] == "END":
                if tail := _KEY_TAIL.search(
                    text, max(done, border.start() - _KEY_TAIL_REACH), border.start()
                ):
                    yield tail.start(), border.end()
                done = border.end()
                continue
            closing = borders[index + 1] if index + 1 < len(borders) else None
            if closing and closing["side"] == "END" and closing.end() - border.start() < _KEY_MAX_LENGTH:
                if not _KEY_BODY.search(text, border.end(), closing.start()):
                    continue
                done = closing.end()
            elif lines := _KEY_LINES.match(text, border.end()):
                done = lines.end()
            else:
                continue
            yield border.start(), done
    if "PuTTY-User-Key-File" in text:
        yield from (match.span("secret") for match in _PUTTY.finditer(text))


def secret_objects(text: str) -> Iterator[tuple[int, int]]:
    """Places of the values of a Kubernetes Secret: each of its data, in base64 or plain."""
    if "Secret" not in text:
        return
    done = 0
    for head in _SECRET_OBJECT.finditer(text):
        if head.start() < done:
            continue
        begin = text.rfind("\n---", max(0, head.start() - 3000), head.start())
        begin = max(done, head.start() - 3000) if begin < 0 else begin
        end = text.find("\n---", head.end(), head.end() + 20_000)
        end = min(len(text), head.end() + 20_000) if end < 0 else end
        done = end
        for data in _DATA.finditer(text, begin, end):
            yield from _entries(text, data.end(), end, len(data["indent"]))


def _entries(text: str, position: int, end: int, indent: int) -> Iterator[tuple[int, int]]:
    for _ in range(_MOST_ENTRIES):
        entry = _ENTRY.match(text, position, end) or _FOLDED.match(text, position, end)
        if not entry or len(entry[0]) - len(entry[0].lstrip()) <= indent:
            return
        if not is_ordinary(entry["secret"]):
            start, stop = entry.span("secret")
            yield start, stop - (len(entry["secret"]) - len(entry["secret"].rstrip()))
        position = entry.end()


def secret_sections(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Places of generated values in an object or section that is named after secrets: `[credentials]`, `secrets:`."""
    if not any(hint in lowered for hint in ("secret", "credentials", "passwords", "keys", "tokens", "auths")):
        return
    for head in _SECTION.finditer(text):
        position = head.end()
        indent = len(head["indent"])
        is_section = "[" in head[0]
        for _ in range(_MOST_ENTRIES):
            leaf = _LEAF.match(text, position)
            if not leaf or (not is_section and len(leaf["name"]) - len(leaf["name"].lstrip()) <= indent):
                break
            group = "double" if leaf["double"] else "bare"
            value = leaf[group] or ""
            if is_mixed(value) and not is_mundane(value) and not is_reference(value, is_shell=False):
                yield leaf.span(group)
            position = leaf.end()
