"""Reading the value that is written at a place: in quotes of any kind, or bare up to its end."""

from typing import Final, NamedTuple

from slowwave.deferred import pattern
from slowwave.redaction.values import without_closers


class Written(NamedTuple):
    """A value as it is written: its place without quotes, and whether it had any."""

    start: int
    end: int
    text: str
    is_quoted: bool


_QUOTED = pattern(
    r"[bBrRuUfF@$]{0,2}(?:"
    r"(?P<quote>\\{0,3}(?:\"\"\"|'''|```|[\"'`]))(?P<inside>(?:(?!(?P=quote))(?:\\.|[^\r\n\\])){1,2000}+)(?P=quote)"
    r"|[“„”](?P<low>[^“”„\n]{1,500})[”“\"]|[«»]\s?(?P<angle>[^«»\n]{1,500}?)\s?[»«]|[‹›](?P<single>[^‹›\n]{1,500})[›‹]"
    r"|[‘‚’](?P<curly>[^‘’‚\n]{1,500})[’‘]|\*\*(?P<bold>[^*\n]{1,200})\*\*|「(?P<corner>[^」\n]{1,200})」"
    r"|<(?:b|i|code|strong|em|kbd|tt|pre)>(?P<tag>[^<\n]{1,500})</)"
)
_BARE = pattern(
    r"\\{0,3}[\"'`]?(?P<bare>(?:(?!&[\w.-]{1,40}=|\\+[nrt\"']|</|\]\]>|\)\.[A-Za-z_]|[,;]{1,2}[\w. -]{1,40}[=:])"
    r"(?:[^\s\"'`,;“”„«»‹›‘’]|[,;](?=[^\s\"'`,;“”])|(?<=\w)[\"'](?=[\w!?#]))){1,2000}+)"
)
_WRAPPINGS: Final = "*_~"


def value_at(text: str, position: int) -> Written | None:
    """The value that begins at `position`; null where only blanks, or nothing, stand."""
    if (quoted := _QUOTED.match(text, position)) and quoted.lastgroup:
        group = "inside" if quoted["inside"] is not None else quoted.lastgroup
        start, end = quoted.span(group)
        return Written(start, end, quoted[group], is_quoted=True)
    if bare := _BARE.match(text, position):
        value = bare["bare"]
        unwrapped = value.lstrip(_WRAPPINGS) or value
        start = bare.start("bare") + len(value) - len(unwrapped)
        value = without_closers(unwrapped)
        if value.endswith(("**", "__")):
            value = value.rstrip(_WRAPPINGS)
        if value:
            return Written(start, start + len(value), value, is_quoted=False)
    return None


def line_end(text: str, position: int, reach: int) -> int:
    """The end of the line at `position`, at most `reach` characters away."""
    limit = min(len(text), position + reach)
    found = text.find("\n", position, limit)
    return limit if found < 0 else found


def line_start(text: str, position: int, reach: int) -> int:
    """The start of the line of `position`, at most `reach` characters before it."""
    limit = max(0, position - reach)
    found = text.rfind("\n", limit, position)
    return limit if found < 0 else found + 1
