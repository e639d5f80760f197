"""State that the requests of one run share: the clients, what was used, and whether anything may still be sent."""

import threading

from slowwave.errors import BudgetError, ConfigError, SlowwaveError, TransientError
from slowwave.models.ollama_context import bake_context
from slowwave.models.requests import Request, model_of
from slowwave.models.servers import ServerError, bare, ollama_client, openai_client
from slowwave.schemas.ledger import Ledger, LedgerLine
from slowwave.settings.groups import LLMSettings

OUTAGE_FAILURES = 3
"""Requests that failed in a row, with all their repeats, and so end the calls of a run: the server is away."""


class RunState:
    """The state of one run, shared by its threads."""

    def __init__(self, settings: LLMSettings) -> None:
        self.settings = settings
        self.client = openai_client(settings)
        self.stopped = threading.Event()
        self._ollama = ollama_client(settings) if settings.provider == "ollama" else None
        self._lock = threading.Lock()
        self._prepare_lock = threading.Lock()
        self._prepared: set[str] = set()
        self._ledger = Ledger()
        self._failures_in_row = 0
        self._down: SlowwaveError | None = None

    @property
    def ledger(self) -> Ledger:
        """Tokens and calls used so far."""
        with self._lock:
            return self._ledger

    @property
    def is_down(self) -> bool:
        """Return whether this run gave the server up; it stays so for the life of this object."""
        return self._down is not None

    def record(self, request: Request, line: LedgerLine) -> None:
        """Add what one request used."""
        part = Ledger.of(
            line, model=model_of(self.settings, request), prompt_version=request.prompt.prompt_version
        )
        with self._lock:
            self._ledger = self._ledger + part

    def check_open(self) -> None:
        """Raise when nothing may be sent any more: the server was given up, or the budget is spent."""
        if isinstance(self._down, ConfigError):
            raise ConfigError(f"not asked: {self._down}")
        if self._down is not None:
            raise TransientError(f"not asked: the server is down ({self._down})")
        total, limits = self.ledger.total, self.settings
        tokens, cost, spent = total.input_tokens + total.output_tokens, total.cost, ""
        if limits.budget_tokens is not None and tokens >= limits.budget_tokens:
            spent = f"{tokens} tokens of budget_tokens={limits.budget_tokens}"
        elif limits.budget_cost is not None and (cost is None or cost >= limits.budget_cost):
            spent = f"{cost} US dollars of budget_cost={limits.budget_cost}"
        if spent:
            raise BudgetError(f"not asked: {spent} are used. Raise it or let the next run go on.")

    def prepare(self, model: str) -> None:
        """Make sure, once a run, that Ollama holds the model with our context size."""
        with self._prepare_lock:
            if self._ollama is not None and model not in self._prepared:
                self.check_open()
                bake_context(self.settings, self._ollama, model)
                self._prepared.add(model)

    def note(self, failure: ServerError | None) -> None:
        """Count the server's failures in a row, by item; enough of them, or a fatal one, end the run."""
        with self._lock:
            self._failures_in_row = 0 if failure is None else self._failures_in_row + 1
            is_outage = self._failures_in_row >= OUTAGE_FAILURES
        if failure is not None and (failure.is_fatal or is_outage):
            self.give_up(failure.error)

    def give_up(self, error: SlowwaveError) -> None:
        """End the run: nothing more is sent, and nobody waits for a repeat any more."""
        with self._lock:
            self._down = self._down or bare(error)
        self.stopped.set()

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
        if self._ollama is not None:
            self._ollama.close()  # type: ignore[no-untyped-call]
