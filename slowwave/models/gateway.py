"""The language model of one run: many requests at once, each with its outcome, and answers that are kept."""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.deferred import deferred
from slowwave.errors import ConfigError, SlowwaveError, TransientError
from slowwave.models.answers.fields import read_answer
from slowwave.models.cache import AnswerCache
from slowwave.models.checks import settings_problem
from slowwave.models.exchange import Exchange, mode_of
from slowwave.models.ollama_context import sent_model
from slowwave.models.requests import Outcome, Request, model_of
from slowwave.models.servers import address_of, bare, quiet_libraries
from slowwave.models.state import RunState
from slowwave.schemas.ledger import LedgerLine
from slowwave.settings.groups import LLMSettings

if TYPE_CHECKING:
    from instructor import cache as instructor_cache
else:
    instructor_cache = deferred("instructor.cache")

_log = logging.getLogger(__name__)


class LLM(RunState):
    """The language model of one run: its server, cache, budget and ledger. Made by `open_llm`."""

    def __init__(self, settings: LLMSettings, cache: AnswerCache) -> None:
        super().__init__(settings)
        self._cache = cache

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

    def close(self) -> None:
        """Close the connections and the cache."""
        super().close()
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
