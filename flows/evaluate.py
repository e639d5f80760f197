"""Evaluate: how well the memory finds the turns that answer the questions of a set."""

import time
from pathlib import Path

from prefect import flow

from benchmarks.question_sets import read_question_set
from slowwave.errors import InputError
from slowwave.evaluation.evaluate import add_up, headline, markdown, measured_home, report_figures
from slowwave.schemas.questions import Evaluation
from tasks.evaluate import ask_conversation
from tasks.step import call, open_stage, publish_page, run_name


@flow(name="evaluate", flow_run_name=run_name)
def evaluate(questions: str = "", home: str = "") -> Evaluation:
    """Measures retrieval on a question set: recall by category and list, and the evidence that context and search show.

    A set without sessions is asked of this home; one that brings sessions is asked in temporary homes with this
    home's settings. No language model is asked, and nothing of the memory changes.

    Args:
        questions: File of the question set: LoCoMo's form, or the one in benchmarks/README.md. Write the full path
            if the worker was not started by slowwave ui.
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
    """
    if not questions:
        raise InputError("there is nothing to ask: name the file of a question set in `questions`")
    asked = read_question_set(Path(questions))
    started = time.monotonic()
    with measured_home(asked, home) as folder, open_stage("evaluate", home=folder) as run:
        parts = [call(ask_conversation, run, conversation) for conversation in asked.conversations]
        found = add_up(parts, seconds=time.monotonic() - started)
        if not found.questions:
            why = ", ".join(f"{count} x {reason}" for reason, count in found.left_out.items())
            raise InputError(f"no question of {questions} can be measured: {why or 'there is none'}")
        report_figures(run, found)
        publish_page(markdown(found), key="evaluate-recall", headline=headline(found))
    return found
