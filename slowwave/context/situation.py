"""An agent's situation: its request, with the store and the moment that answer it."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial

from slowwave.excerpts import Asked, asked_terms
from slowwave.excerpts.relevance import Relevance, relevance_to
from slowwave.language.query_words import QUERY_WORDS, telling_words
from slowwave.language.signals import (
    branch_words,
    error_message,
    error_sameness,
    error_signature,
    error_words,
    file_words,
)
from slowwave.schemas.context import MAX_ERRORS, ContextRequest
from slowwave.schemas.search import MAX_QUERY_CHARACTERS
from slowwave.search import Reader
from slowwave.settings.tree import Settings
from slowwave.store import Store


@dataclass(frozen=True)
class Failure:
    """An error as it is looked for."""

    message: str
    signature: frozenset[str]
    words: frozenset[str]

    @property
    def query(self) -> str:
        """Words for full text, the signature first."""
        return telling_words(" ".join([*sorted(self.signature), self.message]), most=48)


@dataclass(frozen=True)
class Situation:
    """One request for context. `store` is the reader's, as it was when the request came."""

    reader: Reader
    store: Store
    request: ContextRequest
    now: datetime

    @property
    def settings(self) -> Settings:
        """Settings of the home."""
        return self.reader.settings

    @cached_property
    def failures(self) -> list[Failure]:
        """The last errors that have any words, each once, newest first."""
        messages = [error_message(error) for error in reversed(self.request.recent_errors) if error.strip()]
        found = [
            Failure(text, error_signature(text), error_words(text))
            for text in dict.fromkeys(messages[:MAX_ERRORS])
        ]
        return [failure for failure in found if failure.query]

    def sameness(self, text: str) -> float:
        """Certainty that a text speaks of one of the errors, 0..1."""
        return max(
            error_sameness(text, signature=failure.signature, words=failure.words)
            for failure in self.failures
        )

    @cached_property
    def file_and_branch(self) -> tuple[str, str]:
        """Words of the current file's path, and of the branch."""
        return file_words(self.request.current_file or ""), branch_words(self.request.branch or "")

    @cached_property
    def text(self) -> str:
        """Words of all signals, near which memories are looked for; in the small form the question alone."""
        if self.request.opening:
            return ""
        if self.request.small:
            return self.request.question
        errors = (failure.message for failure in self.failures[:1])
        parts = (self.request.question, *self.file_and_branch, *errors)
        return " ".join(part for part in parts if part)[:MAX_QUERY_CHARACTERS]

    @cached_property
    def asked(self) -> Asked:
        """The terms of `text`, each with its rarity among the memories."""
        return asked_terms(self.text, partial(self.store.rarities, "cells"))

    @cached_property
    def words(self) -> frozenset[str]:
        """The telling words of `text`."""
        return frozenset(telling_words(self.text, most=QUERY_WORDS).split())

    @cached_property
    def relevance(self) -> Relevance:
        """The relevance of texts to `text`, a word weighed by its rarity among what was said."""
        embedder, words = self.reader.embedder, sorted(self.words)
        threshold = embedder.profile.relevance_threshold if embedder is not None else None
        return relevance_to(words, self.store.rarities("passages", words), threshold)
