"""The language model of one run: many requests at once, each with its outcome, and answers that are kept."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.deferred import deferred
from slowwave.errors import BudgetError, ConfigError, SlowwaveError, TransientError
from slowwave.models.answers.fields import read_answer
from slowwave.models.cache import AnswerCache
from slowwave.models.checks import settings_problem
from slowwave.models.exchange import Exchange, mode_of
from slowwave.models.ollama_context import bake_context, sent_model
from slowwave.models.requests import Outcome, Request, model_of
from slowwave.models.servers import (
    ServerError,
    address_of,
    bare,
    ollama_client,
    openai_client,
    quiet_libraries,
)
from slowwave.schemas.ledger import Ledger, LedgerLine
from slowwave.settings.groups import LLMSettings

if TYPE_CHECKING:
    from instructor import cache as instructor_cache
else:
    instructor_cache = deferred("instructor.cache")

_log = logging.getLogger(__name__)


OUTAGE_FAILURES = 3
"""Requests that failed in a row, with all their repeats, and so end the calls of a run: the server is away."""


class LLM:
    """The language model of one run, shared by its threads: server, cache, budget and ledger. Made by `open_llm`."""

    def __init__(self, settings: LLMSettings, cache: AnswerCache) -> None:
        self.settings = settings
        self.client = openai_client(settings)
        self.stopped = threading.Event()
        self._cache = cache
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

    def ask_all(
        self, requests: Sequence[Request], on_done: Callable[[Outcome], None] | None = None
    ) -> list[Outcome]:
        """One outcome a request, in the order of the requests.

        `on_done` is called in the caller's thread, in the order of completion. What it raises ends the run:
        what was not yet sent is not sent any more.
        """
        outcomes: dict[Future[Outcome], Outcome] = {}
        pool = ThreadPoolExecutor(max_workers=self.settings.concurrency, thread_name_prefix="slowwave-llm")
        futures = [pool.submit(self._ask, request) for request in requests]
        try:
            for future in as_completed(futures):
                outcomes[future] = future.result()
                if on_done is not None:
                    on_done(outcomes[future])
        except BaseException:
            self.give_up(TransientError("the run was stopped"))
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return [outcomes[future] for future in futures]

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
        """Close the connections and the cache."""
        self.client.close()
        if self._ollama is not None:
            self._ollama.close()  # type: ignore[no-untyped-call]
        self._cache.close()

    def _ask(self, request: Request) -> Outcome:
        model = model_of(self.settings, request)
        key = _cache_key(self.settings, request)
        exchange = Exchange(self, request)
        try:
            kept = self._cache.get(key)
            answer = None if kept is None else read_answer(request.answer, kept, request.page)
            if answer is not None:
                self.record(request, LedgerLine(cached_count=1))
                return Outcome(answer, None, model, request.prompt.prompt_version, is_cached=True)
            answer = exchange.run()
        except SlowwaveError as error:
            failure = error
        else:
            self._keep(key, exchange.text)
            return exchange.outcome(answer=answer)
        return exchange.outcome(error=bare(failure))

    def _keep(self, key: str, text: str) -> None:
        """Caches a paid answer as the model gave it: validators may mend it differently another time.

        A cache that cannot take it costs a repeated call later, not this answer.
        """
        try:
            self._cache.set(key, text)
        except SlowwaveError as error:
            _log.warning("an answer was not cached: %s", error)


def open_llm(settings: LLMSettings, cache_path: Path) -> LLM | None:
    """The gateway, or null when the provider is `none`. Nothing is sent yet.

    Raises:
        ConfigError: no model, no key for OpenAI's own address, a cost budget without a price, a bad cache.
    """
    if settings.provider == "none":
        return None
    problem = settings_problem(settings)
    if problem:
        raise ConfigError(problem)
    quiet_libraries()
    return LLM(settings, AnswerCache(cache_path))


def _cache_key(settings: LLMSettings, request: Request) -> str:
    """Hash of all that shapes an answer: server, model and context size, texts, schema, mode, parameters.

    The page of the validators is left out: it does not reach the model, and a hit is validated under its own.
    The key of the server is left out too: a new key must not cost all answers again.
    """
    return instructor_cache.make_cache_key(
        messages=[request.prompt.system, request.prompt.user],
        model=sent_model(settings, model_of(settings, request)),
        response_model=request.answer,
        mode=str(mode_of(settings).value),
        provider=settings.provider,
        namespace=address_of(settings),
        request_kwargs={"temperature": settings.temperature, "max_tokens": settings.max_answer_tokens},
    )
