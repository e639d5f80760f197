"""Measuring retrieval: homes of their own for question sets, asking, and the figures as a page."""

import tempfile
from pathlib import Path

from prefect import task
from prefect.artifacts import create_markdown_artifact
from prefect.cache_policies import NO_CACHE

from slowwave.schemas.questions import Conversation, Evaluation
from slowwave.stages.evaluation.evaluate import (
    Asked,
    _copy_settings,
    ask,
    conversation_home,
    headline,
    markdown,
)
from slowwave.stages.run import Stage
from tasks.stage import is_under_prefect


@task(name="ask", cache_policy=NO_CACHE, task_run_name="ask-{conversation.name}")
def ask_conversation(run: Stage, conversation: Conversation, has_memories: bool = True) -> Asked:
    """Asks one conversation's questions: of its own sessions in a home of their own, else of the run's home."""
    if not conversation.sessions:
        return ask(run.workspace, conversation)
    root = run.workspace.home.root
    folder = Path(tempfile.mkdtemp(dir=root))
    _copy_settings(root, folder)
    with conversation_home(folder, conversation, has_memories=has_memories) as workspace:
        return ask(workspace, conversation)


def publish_figures(run: Stage, found: Evaluation) -> None:
    """Leaves the figures as tables under a stable key, and their headline in the stage's report."""
    for reason, count in found.left_out.items():
        run.reject(reason, count)
    run.report.rows_in = found.questions
    run.note(headline(found))
    if is_under_prefect():
        create_markdown_artifact(markdown(found), key="evaluate-recall", description=headline(found))
