"""What texts arrive in: quoted, numbered, coloured, escaped. A secret in a carrier is the same secret."""

import html
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from benchmarks.made_secrets.filling import Case

Carrier = Callable[[str], str]


def each_line(before: str, after: str = "") -> Carrier:
    """A carrier that writes something before and behind each line."""
    return lambda text: "\n".join(f"{before}{line}{after}" for line in text.splitlines())


def numbered(text: str) -> str:
    """Lines with their numbers, as `cat -n` and the file tools of agents print them."""
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(), start=1))


CARRIERS: dict[str, Carrier] = {
    "quoted mail": each_line("> "),
    "diff": each_line("+"),
    "code fence": lambda text: f"Look:\n```\n{text}```\nThat is all.",
    "indented": each_line("    "),
    "Windows lines": lambda text: text.replace("\n", "\r\n"),
    "numbered lines": numbered,
    "grep": each_line("config/app.env:12:"),
    "container log": each_line("web-1  | "),
    "time stamps": each_line("2026-11-20T10:00:00Z app[12]: "),
    "comment": each_line("# "),
    "colours": each_line("\x1b[32m", "\x1b[0m"),
    "JSON string": lambda text: json.dumps({"role": "user", "content": text}),
    "JSON in JSON": lambda text: json.dumps({"line": json.dumps({"text": text})}),
    "HTML": html.escape,
    "long message": lambda text: "We talked about the garden and the roof. " * 60 + f"\n\n{text}",
}


def carried(dice: Random, made: list[Case]) -> Iterator[tuple[str, Case]]:
    """Each case in a drawn carrier, with the carrier's name; secrets as they are written in it."""
    for case in made:
        name = dice.choice(list(CARRIERS))
        secrets = [html.escape(secret) if name == "HTML" else secret for secret in case.secrets]
        yield name, replace(case, text=CARRIERS[name](case.text), secrets=tuple(secrets))
