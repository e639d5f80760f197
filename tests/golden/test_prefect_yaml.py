"""`prefect.yaml` against the flows: whoever reads one knows the other."""

import ast
import os
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conventions.source import ROOT
from tests.conventions.test_names import AROUND_FLOWS

Parameters = dict[str, Any]
NIGHT = "nightly"


@cache
def prefect_yaml() -> dict[str, Any]:
    """The file as Prefect reads it."""
    return yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))


def deployments() -> dict[str, dict[str, Any]]:
    """Deployments by name."""
    return {deployment["name"]: deployment for deployment in prefect_yaml()["deployments"]}


def flow_names() -> set[str]:
    """The verbs under flows/."""
    return {path.stem for path in (ROOT / "flows").glob("*.py")} - AROUND_FLOWS


@cache
def signature(verb: str) -> Parameters:
    """Parameters of a flow with their defaults, read from its text, so that this test needs no Prefect."""
    tree = ast.parse((ROOT / "flows" / f"{verb}.py").read_text(encoding="utf-8"))
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == verb)
    arguments = function.args
    assert (arguments.vararg, arguments.kwarg) == (None, None), "the form shows named parameters only"
    named = [argument.arg for argument in arguments.args]
    defaults = [ast.literal_eval(default) for default in arguments.defaults]
    given = dict(zip(named[len(named) - len(defaults) :], defaults, strict=True))
    keyword = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    given |= {argument.arg: ast.literal_eval(default) for argument, default in keyword if default is not None}
    missing = {*named, *(argument.arg for argument in arguments.kwonlyargs)} - set(given)
    assert not missing, f"{verb}: {missing} without a default: the schedule could not run it"
    return given


def test_every_flow_has_one_deployment_of_its_own_name_and_nothing_else_is_deployed():
    names = [deployment["name"] for deployment in prefect_yaml()["deployments"]]
    assert sorted(names) == sorted(flow_names())


@pytest.mark.parametrize("verb", sorted(deployments()))
def test_an_entrypoint_is_dotted_and_can_be_imported(verb: str):
    module, _, function = deployments()[verb]["entrypoint"].rpartition(".")
    assert (module, function) == (f"flows.{verb}", verb)
    found = find_spec(module)
    assert found is not None
    assert found.origin is not None
    assert Path(found.origin) == ROOT / "flows" / f"{verb}.py"
    assert signature(verb)


@pytest.mark.parametrize("verb", sorted(deployments()))
def test_default_parameters_are_parameters_of_the_flow_and_do_not_change_its_defaults(verb: str):
    given = deployments()[verb].get("parameters", {})
    assert {name: signature(verb).get(name, "no such parameter") for name in given} == given


@pytest.mark.parametrize("verb", ["forget", "rebuild", "reembed", "redact", "rederive"])
def test_what_takes_something_away_offers_a_dry_run(verb: str):
    assert isinstance(signature(verb).get("dry_run"), bool)


def test_no_path_of_the_deploying_machine_is_written_into_a_deployment():
    assert prefect_yaml()["pull"] == []
    assert [
        name for name, deployment in deployments().items() if {"pull", "build", "push"} & set(deployment)
    ] == []


def test_every_deployment_says_what_it_does_and_goes_to_the_one_pool():
    wrong = [
        name
        for name, deployment in deployments().items()
        if not deployment.get("description", "").strip()
        or "slowwave" not in deployment.get("tags", [])
        or deployment.get("work_pool") != {"name": "slowwave"}
        or "version" in deployment
    ]
    assert wrong == []


def test_only_the_night_is_scheduled_and_its_schedule_can_be_changed_in_place():
    scheduled = {
        name: deployment["schedules"]
        for name, deployment in deployments().items()
        if "schedules" in deployment
    }
    assert list(scheduled) == [NIGHT]
    assert scheduled[NIGHT] == [{"slug": "every-night", "cron": "0 3 * * *", "timezone": "UTC"}]


def test_the_night_starts_at_three_every_night():
    from prefect._vendor.croniter import croniter

    schedule = deployments()[NIGHT]["schedules"][0]
    assert croniter.is_valid(schedule["cron"])
    assert schedule["timezone"] == "UTC"
    times = croniter(schedule["cron"], datetime(2026, 11, 20, 12, tzinfo=UTC))
    assert [times.get_next(datetime).isoformat() for _ in range(2)] == [
        "2026-11-21T03:00:00+00:00",
        "2026-11-22T03:00:00+00:00",
    ]


def test_one_night_runs_at_a_time_and_a_second_one_waits():
    assert deployments()[NIGHT]["concurrency_limit"] == {"limit": 1, "collision_strategy": "ENQUEUE"}


def test_no_placeholder_is_left_for_the_environment_to_fill():
    assert "{{" not in (ROOT / "prefect.yaml").read_text(encoding="utf-8")
    given = {name for name in os.environ if name.startswith("SLOWWAVE_")}
    assert given <= {"SLOWWAVE_SEARCH__RESIDENT_MINUTES"}  # set by the tests themselves
