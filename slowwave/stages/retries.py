"""What an unusable answer means for the thing that was asked about: a pause that doubles, at last quarantine."""

from datetime import timedelta

from slowwave.errors import InputError, OutputError
from slowwave.llm import Outcome
from slowwave.stages.run import Stage


def failed_try(run: Stage, outcome: Outcome, *, tries_before: int) -> dict[str, object] | None:
    """The state after one try more: `attempts`, `status`, `error`, `retry_at`, `prompt_version`, `model`.

    None where it was no try: the answer is usable, the server was away, or the budget was spent.
    """
    if not isinstance(outcome.error, OutputError | InputError):
        return None
    night, attempts = run.settings.night, tries_before + 1
    is_last = attempts >= night.max_attempts
    pause = timedelta(hours=night.retry_backoff_hours * 2 ** (attempts - 1))
    return {
        "attempts": attempts,
        "status": "quarantined" if is_last else "failed",
        "error": str(outcome.error),
        "retry_at": None if is_last else run.now + pause,
        "prompt_version": outcome.prompt_version,
        "model": outcome.model,
    }
