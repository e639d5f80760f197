"""Evaluate: measure how well the memory finds the turns that answer a home's own questions."""

from pathlib import Path

from prefect import flow

from slowwave.errors import InputError
from slowwave.home.paths import open_home
from slowwave.measure import headline, markdown, measure, read_questions
from slowwave.schemas.questions import Evaluation
from tasks.step import publish_page, run_name


@flow(name="evaluate", flow_run_name=run_name)
def evaluate(questions: str = "", home: str = "") -> Evaluation:
    """Measure recall at k on questions about this home, by category.

    The home is only read and no language model is asked. Public question sets, which bring their own sessions, are
    measured by benchmarks/retrieval_quality.py.

    Args:
        questions: File of the questions, in the form of benchmarks/README.md. Write the full path if the worker was
            not started by slowwave ui.
        home: Home folder; empty means SLOWWAVE_HOME, else the one of this user.
    """
    if not questions:
        raise InputError("there is nothing to ask: name the file of a question set in `questions`")
    found = measure(open_home(home or None), read_questions(Path(questions)))
    publish_page(markdown(found), key="evaluate-recall", headline=headline(found))
    return found
