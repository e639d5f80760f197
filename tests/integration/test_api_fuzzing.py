"""Schemathesis over the whole API: whatever is sent, no error of ours and no answer against its description."""

import contextlib
import subprocess
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from slowwave.memory import Memory
from tests.serving import serving

pytestmark = pytest.mark.processes  # of flows that it would start, which are ended at once here

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = {GenerationMode.POSITIVE: 5, GenerationMode.NEGATIVE: 2}
"""Requests to each route: possible ones, and impossible ones, which take long to make up."""

ENDPOINTS = 30
"""Fewer would mean that the description lost some."""


class Ended:
    """A process that ended before it did anything."""

    returncode = 0

    def __init__(self, *given: object, **named: object) -> None:
        pass

    def poll(self) -> int:
        return 0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home = tmp_path_factory.mktemp("fuzzed") / "home"
    with Memory(home) as memory:
        memory.remember("Mara signs the tokens of the auth service with RS256.", entities=["Mara"])
    with pytest.MonkeyPatch.context() as patched, serving(home) as client:
        patched.setattr(subprocess, "Popen", Ended)
        yield client


@pytest.mark.timeout(240)
@pytest.mark.filterwarnings(
    "ignore::hypothesis.errors.HypothesisDeprecationWarning"
)  # of Schemathesis itself
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_whatever_is_sent_is_answered_as_described(served: httpx.Client, mode: GenerationMode):
    schema = schemathesis.openapi.from_dict(served.get("/openapi.json").json())
    schema.config.update(base_url=str(served.base_url))
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= ENDPOINTS
    headers = {"Authorization": served.headers["Authorization"]}
    answers: Counter[int] = Counter()

    for operation in operations:
        strategy = operation.as_strategy(generation_mode=mode)

        @settings(
            max_examples=EXAMPLES[mode], deadline=None, database=None, derandomize=True,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=strategy, wait=st.just(0))
        def ask(case: schemathesis.Case, wait: int) -> None:
            if isinstance(case.body, dict) and "wait_seconds" in case.body:
                case.body["wait_seconds"] = wait
            answers[case.call_and_validate(headers=headers, checks=CHECKS).status_code] += 1

        with contextlib.suppress(
            Unsatisfiable
        ):  # nothing impossible can be said to a route without parameters
            ask()
    wanted = {200, 202} if mode == GenerationMode.POSITIVE else {400, 401, 404, 405, 413, 422}
    assert sum(count for status, count in answers.items() if status in wanted) > len(operations), answers
