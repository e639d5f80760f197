"""What a memory is worth for the questions of a set: nights, evidence coverage, and judged answers.

    python benchmarks/answers.py night SET INDEX --folder FOLDER [--base-url URL --model NAME]
    python benchmarks/answers.py coverage FOLDER...
    python benchmarks/answers.py answers FOLDER... --base-url URL [--model NAME] [--pages context:2000,turns:2000,whole]

`night` takes in conversation INDEX (from 0) of a question set and does its nights, with the clock at each. `coverage`
needs no model. `answers` asks a reader the questions on each page, and a judge for marks. SET is LoCoMo's JSON,
LongMemEval's, or our own form (`slowwave/schemas/questions.py`). A command that was killed goes on where it was when it
is given again. benchmarks/README.md says what the figures mean.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import SecretStr

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import answers_nights  # noqa: E402
from benchmarks.answers_judge import Answered, accuracy_lines, judge_all, marked, write_rows  # noqa: E402
from benchmarks.answers_memory import EVERY_PAGE, asked_pages, chosen_pages, measured_coverage  # noqa: E402
from benchmarks.answers_nights import KEY, shown_progress  # noqa: E402
from benchmarks.answers_read import Asked, Kept, read_all  # noqa: E402
from benchmarks.answers_tables import Told, show_accuracy, show_coverage, show_json, show_night  # noqa: E402
from benchmarks.question_sets import Conversation  # noqa: E402
from benchmarks.record_answers import recording  # noqa: E402
from benchmarks.replay import replaying  # noqa: E402
from slowwave.errors import InputError, SlowwaveError  # noqa: E402
from slowwave.models.gateway import LLM, open_llm  # noqa: E402
from slowwave.schemas.ledger import Ledger  # noqa: E402
from slowwave.settings.groups import LLMSettings  # noqa: E402


def night(options: argparse.Namespace) -> int:
    """Do the nights of one conversation, and tell what they cost."""
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    answers_nights.use_own_environment(folder)
    conversation = answers_nights.read_conversation(options.set, options.index)
    with served(options) as base_url:
        sleep(options, folder, conversation, base_url)
    report = answers_nights.night_report(folder)
    (folder / "night.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    show_json(report) if options.json else show_night(report)
    return 0


@contextmanager
def served(options: argparse.Namespace) -> Iterator[str]:
    """The address of the model server: the given one, one that records what it answers, or a recording.

    Raises:
        ConfigError: questions of the nights are not in the recording.
    """
    if options.replay:
        with replaying(options.replay) as replay:
            yield replay.base_url
        if problem := replay.problem():
            raise problem
    elif options.record:
        with recording(options.base_url, options.record, seconds=options.timeout) as recorder:
            yield recorder.base_url
    else:
        yield options.base_url


def sleep(options: argparse.Namespace, folder: Path, conversation: Conversation, base_url: str) -> None:
    """Do the nights of a conversation with the model at an address."""
    model = answers_nights.Model(
        base_url=base_url,
        model=options.model,
        gate_model=options.gate_model or options.model,
        concurrency=options.concurrency,
        timeout_seconds=options.timeout,
        transport_retries=options.transport_retries,
        budget_tokens=options.budget_tokens,
    )
    answers_nights.sleep_through(
        folder, conversation, options.nights, model, options.embedder, options.setting
    )


def coverage(options: argparse.Namespace) -> int:
    """Measure the coverage of folders together."""
    found = measured_coverage(options.folders, audit=options.audit, budgets=options.budgets)
    show_json(found.as_json()) if options.json else show_coverage(found.lines, found.left_out)
    return 0


def answers(options: argparse.Namespace) -> int:
    """Have the questions answered and marked, and tell the accuracy."""
    folders: list[Path] = options.folders
    asked, left_out = asked_pages(folders, options.pages, audit=options.audit, every=options.every)
    kept, ledger = Kept(folders), Ledger()
    with opened_model(options, options.model, folders[0]) as reader:
        with shown_progress():
            read_all(
                reader,
                asked,
                kept,
                questions_a_request=options.questions_a_request,
                pages_a_request=options.pages_a_request,
            )
        model, ledger = reader.settings.model, ledger + reader.ledger
    answered = answered_of(asked, kept, model)
    judge_model = options.judge_model or options.model
    with opened_model(options, judge_model, folders[0], spent=ledger) as judge, shown_progress():
        judge_all(judge, answered, kept, items_a_request=options.items_a_request)
        ledger += judge.ledger
    rows = marked(answered, kept, judge_model)
    write_rows(rows, folders)
    left_out |= {
        "not answered yet": len(asked) - len(answered),
        "not marked yet": rows["points"].null_count(),
    }
    told = Told(accuracy_lines(rows), {name: count for name, count in left_out.items() if count}, ledger)
    show_json(told.as_json()) if options.json else show_accuracy(told)
    return 0


def answered_of(asked: Sequence[Asked], kept: Kept, model: str) -> list[Answered]:
    """What has an answer by now."""
    found = [(one, kept.entries.get(one.key(model))) for one in asked]
    return [Answered(one, entry["answer"]) for one, entry in found if entry]


@contextmanager
def opened_model(
    options: argparse.Namespace, model: str, folder: Path, *, spent: Ledger | None = None
) -> Iterator[LLM]:
    """The gateway to a reader or a judge, with its cache in the folder.

    Raises:
        InputError: there is no address of a server.
    """
    judge_url = options.judge_base_url if spent is not None else ""
    if not options.base_url:
        raise InputError("a reader is needed: give --base-url, the address of an OpenAI-compatible server")
    used = spent.total.input_tokens + spent.total.output_tokens if spent else 0
    settings = LLMSettings(
        provider="openai",
        base_url=judge_url or options.base_url,
        api_key=SecretStr(os.environ.get(KEY, "none")),
        model=model,
        concurrency=options.concurrency,
        timeout_seconds=options.timeout,
        transport_retries=options.transport_retries,
        max_answer_tokens=4_096,
        budget_tokens=None if options.budget_tokens is None else max(options.budget_tokens - used, 0),
    )
    llm = open_llm(settings, folder / "answers.sqlite")
    assert llm is not None
    try:
        yield llm
    finally:
        llm.close()


def numbers(text: str) -> tuple[int, ...]:
    """Whole numbers, split by commas."""
    return tuple(int(part) for part in text.split(","))


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    of_night = commands.add_parser("night", help="take in a conversation and do its nights")
    of_night.add_argument("set", type=Path, help="question set: LoCoMo, LongMemEval, or our own form")
    of_night.add_argument("index", type=int, help="which conversation of it, from 0")
    of_night.add_argument("--folder", type=Path, required=True, help="where everything is kept")
    of_night.add_argument(
        "--nights",
        choices=("between", "end"),
        default="end",
        help="a night after each day of talk, or one two days after the last (default)",
    )
    of_night.add_argument("--embedder", choices=("wordllama", "ollama", "none"), default="wordllama")
    of_night.add_argument(
        "--setting", action="append", default=[], metavar="GROUP.NAME=VALUE", help="any other setting"
    )
    add_model(of_night)
    of_night.add_argument("--record", type=Path, help="keep what the server answers in this file")
    of_night.add_argument("--replay", type=Path, help="have such a file answer, without a server")
    of_coverage = commands.add_parser("coverage", help="share of the evidence that is shown; no model")
    of_coverage.add_argument(
        "folders", type=Path, nargs="+", help="folders of nights; their questions count together"
    )
    of_coverage.add_argument(
        "--budgets", type=numbers, default=(500, 1_000, 2_000, 4_000), help="tokens of a page"
    )
    of_answers = commands.add_parser("answers", help="accuracy by a reader and a strict judge")
    add_answers(of_answers)
    for command in (of_night, of_coverage, of_answers):
        command.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    for command in (of_coverage, of_answers):
        command.add_argument("--audit", type=Path, help="corrections of the set: wrong answers are left out")
    return parser.parse_args(arguments)


def add_answers(parser: argparse.ArgumentParser) -> None:
    """Options of `answers`."""
    parser.add_argument(
        "folders", type=Path, nargs="+", help="folders of nights; their questions count together"
    )
    parser.add_argument(
        "--pages",
        type=chosen_pages,
        default=EVERY_PAGE,
        help="pages to ask on, such as context:2000,search:2000,turns:2000,memories,whole (default: all)",
    )
    parser.add_argument("--every", type=int, default=1, help="ask every N-th question alone")
    parser.add_argument(
        "--questions-a-request", type=int, default=20, help="questions that share a page of everything"
    )
    parser.add_argument(
        "--pages-a-request",
        type=int,
        default=1,
        help="pages with a budget in one request, each with its question",
    )
    parser.add_argument(
        "--items-a-request", type=int, default=30, help="answers that the judge marks at once"
    )
    parser.add_argument("--judge-model", default="", help="another model for the judge")
    parser.add_argument("--judge-base-url", default="", help="another server for the judge")
    add_model(parser)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Options of a model server."""
    parser.add_argument(
        "--base-url", default="", help="OpenAI-compatible server, with /v1; without it there is no model"
    )
    parser.add_argument("--model", default="model", help="its model")
    parser.add_argument("--gate-model", default="", help="a cheaper model for the gate")
    parser.add_argument(
        "--concurrency",
        type=int,
        default=40,
        choices=range(1, 65),
        metavar="N",
        help="requests in flight at once, 1 to 64",
    )
    parser.add_argument("--timeout", type=float, default=5_000.0, help="seconds for one answer")
    parser.add_argument("--transport-retries", type=int, default=0, help="repeats of a request that failed")
    parser.add_argument("--budget-tokens", type=int, help="most tokens of this run")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = parsed(arguments)
    try:
        return {"night": night, "coverage": coverage, "answers": answers}[options.command](options)
    except SlowwaveError as error:
        print(error, file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
