"""Asking the questions of a set as a task: each conversation has its line in the run's page."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from slowwave.evaluation import evaluate
from slowwave.home.stage import Stage
from slowwave.schemas.questions import Conversation


@task(name="ask", cache_policy=NO_CACHE, task_run_name="ask-{conversation.name}")
def ask_conversation(run: Stage, conversation: Conversation) -> evaluate.Asked:
    """Asks one conversation's questions: of its own sessions in a home of their own, else of the run's home."""
    return evaluate.ask_conversation(run.workspace, conversation)
