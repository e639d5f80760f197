"""How well the memory finds the turns that answer a question: `python benchmarks/retrieval_quality.py FILE`.

FILE is a question set with evidence, in LoCoMo's form, LongMemEval's or ours (`benchmarks/question_sets.py`). Each
conversation is taken in by the real path into a home of its own; every question is asked with the lists of
`slowwave/recall/turns.py`. Recall at k is the mean over the questions of the share of a question's evidence turns
among the first k. It calls no language model and sets nothing by the questions.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.environment import hide_settings  # noqa: E402
from benchmarks.evaluation import SetEvaluation  # noqa: E402
from benchmarks.question_sets import Conversation, read_question_set  # noqa: E402
from slowwave.errors import SlowwaveError  # noqa: E402
from slowwave.measure import CUTS  # noqa: E402
from slowwave.schemas.questions import Figures  # noqa: E402


def measure(path: Path, folder: Path, *, has_memories: bool) -> SetEvaluation:
    """Takes in every conversation of a question set and asks its questions."""
    conversations = read_question_set(path).conversations
    from benchmarks.evaluation import Asked, add_up, ask, conversation_home

    started = time.monotonic()
    parts: list[Asked] = []
    for place, conversation in enumerate(conversations):
        home = folder / f"{place:03d}-{'memories' if has_memories else 'turns'}"
        with conversation_home(home, conversation, has_memories=has_memories) as workspace:
            parts.append(ask(workspace, conversation))
            tell(conversation, place)
    return add_up(parts, seconds=time.monotonic() - started)


def tell(conversation: Conversation, place: int) -> None:
    """Says on stderr that a conversation is done."""
    count = len(conversation.questions)
    print(f"{place + 1}: {conversation.name}, {count} questions asked", file=sys.stderr)


def use_embedder(folder: Path, provider: str, model: Path | None) -> None:
    """The same embedder whatever servers and settings the machine has: the provider's, or the folder `model`."""
    hide_settings()
    named = {"PROVIDER": "onnx", "FOLDER": str(model)} if model else {"PROVIDER": provider}
    os.environ.update({f"SLOWWAVE_EMBEDDING__{name}": value for name, value in named.items()})
    os.environ["PREFECT_HOME"] = str(folder / "prefect")


def as_json(found: SetEvaluation) -> dict[str, Any]:
    """One object, the recall of all questions at its top."""
    whole = found.model_dump(mode="json")
    recall = whole.pop("recall")
    return {**{f"recall@{cut}": recall[f"recall@{cut}"] for cut in CUTS}, **whole}


def show(found: SetEvaluation) -> None:
    """The figures as tables."""
    console = Console(highlight=False)
    lists = [
        (f"{word} {name}", figures)
        for group, word in (("alone", "only"), ("without", "all but"))
        for name, figures in found.granularities[group].items()
    ]
    for title, rows in (
        ("by category", [("all", found.recall), *found.by_category.items()]),
        ("beside other ways", [("whole sessions", found.sessions), *found.baselines.items()]),
        ("what each list adds", lists),
    ):
        console.print(table(title, rows))
    console.print(
        f"{found.tokens_returned:.0f} tokens in the first 10 turns ({found.tokenizer}); "
        f"embedder {found.embedder or 'none'}; left out: {found.left_out or 'nothing'}; {found.seconds:.0f} s"
    )
    for name, part in found.parameters.items():
        console.print(f"{name} = {part.value}: {part.meaning}", markup=False)


def table(title: str, rows: Sequence[tuple[str, Figures]]) -> Table:
    """Recall in per cent, a line a way."""
    made = Table(title, *(f"at {cut}" for cut in CUTS), "questions")
    for name, figures in rows:
        recall = [f"{figures[f'recall@{cut}']:.1%}" for cut in CUTS]
        made.add_row(name, *recall, f"{figures['questions']:.0f}")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="question set with evidence")
    parser.add_argument(
        "--cells",
        choices=("none", "observations"),
        default="none",
        help="whether the set's own memories (LoCoMo's observations) are stored as well",
    )
    parser.add_argument("--embedder", choices=("wordllama", "ollama", "none"), default="wordllama")
    parser.add_argument("--embedder-folder", type=Path, help="an ONNX model's folder instead of --embedder")
    parser.add_argument("--folder", type=Path, help="keep the homes here for the next run")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="slowwave-quality-") as temporary:
        folder: Path = options.folder or Path(temporary)
        use_embedder(folder, options.embedder, options.embedder_folder)
        try:
            found = measure(options.file, folder, has_memories=options.cells == "observations")
        except SlowwaveError as error:
            print(error, file=sys.stderr)
            return error.exit_code
    if options.json:
        print(json.dumps(as_json(found)))
    else:
        show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
