"""CONTRIBUTING's recipes, walked on invented examples in a copy of the library.

A recipe names its files; the walk changes exactly those, at most four, and then uses what was added. Generated pages
and golden files are renewed by their tests, and count as tests.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

import pytest

from tests.conventions.source import ROOT

MOST_FILES = 4


@dataclass(frozen=True)
class Recipe:
    """One recipe of CONTRIBUTING: the changes of existing files, the new files, and a program that uses the result.

    `changes` maps a file to pairs of an anchor in it and what stands there afterwards. The program leaves its answer
    in `answer`.
    """

    title: str
    program: str
    answer: object
    changes: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    new: Mapping[str, str] = field(default_factory=dict)


def before(anchor: str, text: str) -> tuple[str, str]:
    """A change that puts a text in front of an anchor."""
    return anchor, text + anchor


def after(anchor: str, text: str) -> tuple[str, str]:
    """A change that puts a text behind an anchor."""
    return anchor, anchor + text


(EXTRACT_PROMPT,) = (ROOT / "prompts").glob("extract_cells.v*.md")

MINUTES = '''"""Minutes of a meeting: `Mara> We take Redis.`, a line a message."""

from collections.abc import Iterator

from slowwave.ingest.files import Input, file_time
from slowwave.ingest.formats.row import Format
from slowwave.ingest.lines import lines_of
from slowwave.ingest.turns import RawMessage


def messages(file: Input) -> Iterator[RawMessage]:
    """The messages of a meeting."""
    time = file_time(file.path)
    for line in lines_of(file.path, file.bounds):
        file.counts.entry_count += 1
        speaker, _, said = line.text.partition("> ")
        yield RawMessage(file.name, "user", (said,), time, speaker=speaker, place=f"line {line.number}")


FORMAT = Format("minutes", "minutes", messages, is_path=lambda path: path.name.endswith(".minutes.txt"))
'''

LETTERS = '''"""Letters: how often each letter stands in a text, for tests of a store without a model."""

from collections.abc import Sequence

import numpy as np

from slowwave.models.embed.profiles import load_profile
from slowwave.models.embed.protocol import Embedded, Embedder, embedder_id_of
from slowwave.models.embed.relevance import guessed_relevance
from slowwave.settings.groups import EmbeddingSettings


def open_letters(settings: EmbeddingSettings) -> Embedder:
    """The embedder that counts letters."""
    profile = load_profile("letters")
    return _Letters(embedder_id_of("letters", "letters", profile), profile, guessed_relevance(profile))


class _Letters(Embedder):
    def embed(self, texts: Sequence[str], prefix: str) -> Embedded:
        counts = [[1.0 + text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
        found = np.array(counts, dtype=np.float32)
        return Embedded(found / np.linalg.norm(found, axis=1, keepdims=True), {}, 0)
'''

EPISODES = '''@click.command()
@asking
def episodes() -> Question:
    """List conversations that were summarized, newest first."""
    return Question("/v1/episodes", query={"limit": 50})


'''

DREAMS_ROUTE = '''@router.get("/dreams")
async def dreams(ask: Ask) -> int:
    """Dreams so far."""
    return await ask.read(ask.memory.dreams)


'''

DREAMS_TOOL = '''@tool("Count dreams", READ)
async def count_dreams(ctx: Context) -> str:
    """Count the dreams so far."""
    return f"{await read(ctx, Memory.dreams)} dreams"


'''

RECIPES = (
    Recipe(
        "A cell type",
        """
from slowwave.models.answers.extract import ExtractAnswer
from slowwave.models.prompts import render
from slowwave.schemas.requests import RememberRequest
asked = RememberRequest(text="Fridays end with cake.", cell_type="ritual").cell_type
page = render("extract_cells", session_date="2026-05-01", turns=[], known=[], earlier="", topics="")
answer = [asked, '"ritual"' in json.dumps(ExtractAnswer.model_json_schema()), "ritual =" in page.system]
""",
        ["ritual", True, True],
        {
            "slowwave/schemas/choices.py": (after('    "workflow",\n', '    "ritual",\n'),),
            f"prompts/{EXTRACT_PROMPT.name}": (
                before("  workflow = ", "  ritual = what a group does again and again\n"),
            ),
        },
    ),
    Recipe(
        "An event kind",
        """
from slowwave.journal.catalogue import encode, rows_of, title_of
from slowwave.journal.changes import collapse
from slowwave.journal.fold import fold
events = encode("cell.praised", rows_of("cell.praised", [{"cell_id": "a", "salience": 0.9}]))
events = events.with_columns(
    segment_id=pl.lit("s"), event_id=pl.lit("s.0"), version=pl.lit(1, dtype=pl.Int64), recorded_at=pl.lit(NOW)
)
patch = collapse(fold(events))["cells"]
answer = [title_of("cell.praised"), type(patch).__name__]
""",
        ["memories praised", "TableChange"],
        {
            "slowwave/journal/catalogue.py": (
                before(
                    '    derived("cell.unlinked",',
                    '    derived("cell.praised", "cell_id salience", patch("cells")),\n',
                ),
            ),
            "docs/events.md": (
                before("| `cell.unlinked`", "| `cell.praised` | 1 | derived | A person praised a memory. | |\n"),
            ),
        },
    ),
    Recipe(
        "A transcript format",
        """
from slowwave.ingest.formats import find_format, read_parts
path = Path("weekly.minutes.txt")
path.write_text("Mara> We take Redis.\\nTobias> Why?\\n")
(read,) = read_parts(path, find_format(path))
answer = read.turns.select("speaker", "content").rows()
""",
        [["Mara", "We take Redis."], ["Tobias", "Why?"]],
        {
            "slowwave/ingest/formats/__init__.py": (
                ("    memories,\n", "    memories,\n    minutes,\n"),
                before("    documents.FORMAT,", "    minutes.FORMAT,\n"),
            ),
        },
        {"slowwave/ingest/formats/minutes.py": MINUTES},
    ),
    Recipe(
        "A setting",
        """
from slowwave.settings.tree import load_settings
os.environ["SLOWWAVE_NIGHT__NAP_MINUTES"] = "7"
answer = load_settings("home").night.nap_minutes
""",
        7,
        {
            "slowwave/settings/groups.py": (
                after(
                    "class NightSettings(Group):\n",
                    '    """Nights."""\n\n    nap_minutes: int = setting(5, "Length of a nap.")\n',
                ),
            )
        },
    ),
    Recipe(
        "A command",
        """
from click.testing import CliRunner
from slowwave.interfaces.cli.program import program
os.environ["SLOWWAVE_SEARCH__RESIDENT_MINUTES"] = "0"
ran = CliRunner().invoke(program, ["episodes", "--home", "nowhere", "--json"])
answer = [ran.exit_code, json.loads(ran.stdout)["total"]]
""",
        [0, 0],
        {
            "slowwave/interfaces/cli/questions.py": (
                before('@click.command()\n@click.option("--all", "has_resolved"', EPISODES),
            ),
            "slowwave/interfaces/cli/program.py": (after("    questions.timeline,\n", "    questions.episodes,\n"),),
        },
    ),
    Recipe(
        "A column in `list`",
        """
from slowwave.interfaces.rendering.answers import blocks_of
from slowwave.interfaces.rendering.view import View
from slowwave.recall.results import CELL
from slowwave.schemas.results import Cell, Page
row = Cell.model_construct(
    cell_id="a" * 24, event_time=NOW, cell_type="fact", content="Kiln 2 is on.", status="active", protected=True,
    project_id="kiln", decay_rate=0.05,
)
page = Page[Cell].model_construct(entries=[row], total=1, next_cursor="", notes=[])
table = blocks_of(page, View(NOW))[0]
answer = ["decay_rate" in CELL, table.columns[3], table.rows[0][3]]
""",
        [True, "rate", "0.05"],
        {
            "slowwave/schemas/results.py": (before("    salience: float\n", "    decay_rate: float\n"),),
            "slowwave/interfaces/rendering/cells.py": (
                before('        "by": lambda cell', '        "rate": lambda cell: f"{cell.decay_rate:.2f}",\n'),
            ),
        },
    ),
    Recipe(
        "An HTTP route with its MCP tool",
        """
import asyncio
from fastapi.testclient import TestClient
from mcp.client import Client
from slowwave.interfaces.http.app import create_app
from slowwave.interfaces.mcp.server import build
from slowwave.memory import Memory
from slowwave.settings.tree import load_settings
memory, key = Memory("nowhere"), "k" * 32
app = create_app(memory, key=key, settings=load_settings("nowhere"))
http = TestClient(app, base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {key}"})
async def tool():
    async with Client(build(app.state.lanes)) as client:
        told = await client.call_tool("count_dreams", {})
        return told.content[0].text
answer = [http.get("/v1/dreams").json(), asyncio.run(tool())]
""",
        [7, "7 dreams"],
        {
            "slowwave/memory.py": (
                before(
                    "    def stats(self",
                    '    def dreams(self) -> int:\n        """Dreams so far."""\n        return 7\n\n',
                ),
            ),
            "slowwave/interfaces/http/routes/read.py": (
                before('@router.get("/weak")\n', DREAMS_ROUTE),
            ),
            "slowwave/interfaces/mcp/read_tools.py": (
                before('@tool("Memory statistics", READ)\n', DREAMS_TOOL),
                after("READ_TOOLS: Final = (\n", "    count_dreams,\n"),
            ),
        },
    ),
    Recipe(
        "An embedder",
        """
from slowwave.models.embed.choice import open_embedder
from slowwave.settings.groups import EmbeddingSettings
embedder, note = open_embedder(EmbeddingSettings(provider="letters"))
answer = [embedder.embedder_id, embedder.embed_documents(["a", "b"]).vectors.shape[1]]
""",
        ["letters/letters/26/v1", 26],
        {
            "slowwave/models/embed/choice.py": (
                before(
                    '    if settings.provider == "none":\n',
                    '    if settings.provider == "letters":\n'
                    '        return _told(open_letters(settings), "as the settings say")\n',
                ),
                before(
                    "from slowwave.models.embed.profiles import",
                    "from slowwave.models.embed.letters import open_letters\n",
                ),
            ),
            "slowwave/models/embed/profiles.toml": (
                before(
                    "[wordllama]\n",
                    '[letters]\ndims = 26\nmax_tokens = 1000\ndocument_prefix = ""\nquery_prefix = ""\n'
                    'prefix_version = "v1"\ntopic_threshold = 0.9\n'
                    "near_threshold = 0.9\nrelevance_threshold = 0.9\n\n",
                ),
            ),
            "slowwave/settings/groups.py": (
                ('Literal["auto", "ollama", "openai", "onnx", "wordllama", "none"]',
                 'Literal["auto", "ollama", "openai", "onnx", "wordllama", "letters", "none"]'),
            ),
        },
        {"slowwave/models/embed/letters.py": LETTERS},
    ),
    Recipe(
        "A coding agent",
        """
from slowwave.interfaces.hooks.agents import AGENTS, Places, files_of
from slowwave.interfaces.hooks.connect import is_found
from slowwave.interfaces.hooks.settings_files import add_entries
there = Places(Path("nobody"), Path("kiln"), "linux")
(file,) = files_of("zed", "user", there, "home")
written = json.loads(add_entries(file, ""))
answer = [list(written["context_servers"]["slowwave"]), is_found("zed", there), AGENTS["zed"].next_step]
""",
        [["command", "args"], False, "open Zed again"],
        {
            "slowwave/interfaces/hooks/agents.py": (
                after('"opencode", ', '"zed", '),
                before(
                    '    "cursor": Agent(',
                    '    "zed": Agent("zed", "{config}/zed", (\n'
                    '        File("{config}/zed/settings.json", "", ("context_servers",)),\n'
                    '    ), "open Zed again"),\n',
                ),
            ),
            "docs/agents.md": (
                before("| `claude-desktop` |", "| `zed` | `~/.config/zed/settings.json` | none | no |\n"),
            ),
        },
    ),
    Recipe(
        "A rule of a stage",
        """
from slowwave.lifecycle.retention import days_until, retention, retention_of
one = retention_of(0.1, 30.0)
frame = pl.select(left=retention(pl.lit(0.1), pl.lit(30.0)), back=days_until(pl.lit(one), pl.lit(0.1)))
answer = [round(one, 6), round(frame["left"][0], 6), round(frame["back"][0], 6)]
""",
        [0.396906, 0.396906, 30.0],
        {
            "slowwave/lifecycle/retention.py": (
                ("return (-rate * days.pow(EXPONENT)).exp()", "return 1.0 / (1.0 + rate * days.pow(EXPONENT))"),
                ("return exp(-rate * days**EXPONENT)", "return 1.0 / (1.0 + rate * days**EXPONENT)"),
                ("faded = (-share.log()).clip(lower_bound=0.0)", "faded = (1.0 / share - 1.0).clip(lower_bound=0.0)"),
            )
        },
    ),
    Recipe(
        "A column of cells",
        """
from slowwave.journal.catalogue import CATALOGUE
from slowwave.schemas.tables import frame_schema
from slowwave.store.layout import SCHEMA_VERSION
kind = CATALOGUE["cell.extracted"]
of_episodes = CATALOGUE["episode.written"].payload
answer = ["mood" in frame_schema("cells"), kind.version, kind.defaults(1), SCHEMA_VERSION, "mood" in of_episodes]
""",
        [
            True,
            6,
            {"steps": [], "template": None, "valid_precision": None, "is_wish": False, "question": None, "mood": None},
            11,
            False,
        ],
        {
            "slowwave/schemas/tables.py": (
                before("    decay_rate: float", "    mood: str | None\n"),
            ),
            "slowwave/journal/catalogue.py": (
                after('{"question": None}', ', {"mood": None}'),
            ),
            "slowwave/store/layout.py": (("SCHEMA_VERSION = 10", "SCHEMA_VERSION = 11"),),
            "data/README.md": (
                before("| `cell_type` |", "| `mood` | text | | mood of who said it | not told |\n"),
            ),
        },
    ),
)  # fmt: skip


def files_of(title: str) -> list[str]:
    """The files that a recipe of CONTRIBUTING names behind "Files:", with N for the next version of a prompt."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = re.search(rf"^\*\*{re.escape(title)}\.\*\*(.*?)(?=^\*\*|^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert part, f"CONTRIBUTING.md has no recipe {title!r}"
    named = re.search(r"Files:(.*?)\.(?:\s|$)(?![a-z])", part[1], re.DOTALL)
    assert named, f"the recipe {title!r} names no files"
    return re.findall(r"`([^`]+)`", named[1])


def pattern(name: str) -> str:
    """A named file as a pattern: `<name>` and N stand for what the newcomer chooses."""
    return re.escape(name).replace("<name>", r"[a-z_]+").replace("vN", r"v\d+")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the programs of all recipes answer, in one copy of the library with everything added."""
    folder = tmp_path_factory.mktemp("recipes")
    for name in ("slowwave", "prompts", "flows", "tasks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("data", "docs"):
        (folder / name).mkdir()
    shutil.copy(ROOT / "docs" / "agents.md", folder / "docs")
    shutil.copy(ROOT / "docs" / "events.md", folder / "docs")
    shutil.copy(ROOT / "data" / "README.md", folder / "data")
    for recipe in RECIPES:
        for name, changes in recipe.changes.items():
            text = (folder / name).read_text(encoding="utf-8")
            for anchor, changed in changes:
                assert text.count(anchor) >= 1, f"{recipe.title}: {name} has no {anchor!r} any more"
                text = text.replace(anchor, changed, 1)
            (folder / name).write_text(text, encoding="utf-8")
        for name, text in recipe.new.items():
            (folder / name).write_text(text, encoding="utf-8")
    lines = [
        "import json, os",
        "from datetime import UTC, datetime",
        "from pathlib import Path",
        "import polars as pl",
    ]
    lines += ["NOW, answers = datetime(2026, 5, 1, tzinfo=UTC), {}"]
    for recipe in RECIPES:
        body = "\n    ".join(recipe.program.strip().splitlines())
        lines += [
            f"try:\n    {body}\nexcept Exception as error:\n    answer = f'{{type(error).__name__}}: {{error}}'"
        ]
        lines += [f"answers[{recipe.title!r}] = answer"]
    lines += ["print('ANSWERS' + json.dumps(answers))"]
    (folder / "walk.py").write_text("\n".join(lines), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    ran = subprocess.run(
        [sys.executable, "walk.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert "ANSWERS" in ran.stdout, ran.stderr
    found: dict[str, object] = json.loads(ran.stdout.rpartition("ANSWERS")[2])
    return found


@pytest.mark.processes  # one process uses all that was added
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_works_as_it_is_written(recipe: Recipe, answers: dict[str, object]) -> None:
    assert answers[recipe.title] == recipe.answer


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_names_all_of_its_files_and_they_are_few(recipe: Recipe) -> None:
    named, touched = files_of(recipe.title), [*recipe.changes, *recipe.new]
    assert len(touched) <= MOST_FILES
    assert len(named) == len(touched)
    assert [name for name in touched if not any(re.fullmatch(pattern(one), name) for one in named)] == []


def test_the_newest_prompt_says_what_every_type_means() -> None:
    from slowwave.schemas.choices import ExtractedType

    page = EXTRACT_PROMPT.read_text(encoding="utf-8")
    assert [
        kind for kind in get_args(ExtractedType) if not re.search(rf"^\s*{kind} = ", page, re.MULTILINE)
    ] == []


def test_the_anchors_stand_in_files_of_the_project() -> None:
    assert [name for recipe in RECIPES for name in recipe.changes if not (ROOT / name).is_file()] == []
    assert not any((ROOT / name).exists() for recipe in RECIPES for name in recipe.new)
