"""Prefixes, limits and thresholds of each embedding model: known ones, and those measured on a store."""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slowwave.errors import ConfigError, InputError
from slowwave.whole_file import write_whole

THRESHOLDS = (
    "topic_threshold",
    "merge_threshold",
    "split_threshold",
    "near_threshold",
    "relevance_threshold",
)
"""Fields of a profile that a calibration may override."""


class Profile(BaseModel):
    """Prefixes, limits and thresholds of one embedding model (`profiles.toml` explains them)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    dims: int = Field(ge=0, description="Width of a vector; 0 means that the first answer tells.")
    max_tokens: int = Field(ge=0)
    document_prefix: str
    query_prefix: str
    prefix_version: str
    topic_threshold: float = Field(ge=-1, le=1)
    mean_topic_threshold: float = Field(ge=-1, le=1)
    merge_threshold: float = Field(ge=-1, le=1)
    split_threshold: float = Field(ge=-1, le=1)
    near_threshold: float = Field(ge=-1, le=1)
    relevance_threshold: float = Field(ge=-1, le=1)
    calibrated: bool


def load_profile(model: str, calibration_path: Path | None = None) -> Profile:
    """The profile of a model: by its name, by its name without owner and tag, else the one for unknown models.

    Thresholds that `calibration_path` (if that file exists) holds for this model win, and count as
    calibrated.

    Raises:
        ConfigError: the calibration file cannot be read or holds what is not a threshold.
    """
    name = plain_name(model)
    given = {key: value for key, value in _given(name).items() if key != "names"}
    return _calibrated(given | {"model": name}, name, calibration_path)


def with_prefixes(profile: Profile, *, query: str | None, document: str | None) -> Profile:
    """The profile with other prefixes than its own, where they are given, and a version that names them."""
    if query is None and document is None:
        return profile
    query = profile.query_prefix if query is None else query
    document = profile.document_prefix if document is None else document
    digest = hashlib.sha256(json.dumps([query, document]).encode()).hexdigest()[:8]
    return profile.model_copy(
        update={"query_prefix": query, "document_prefix": document, "prefix_version": f"p{digest}"}
    )


def centred_name(model: str) -> str:
    """The name under which a model's thresholds stand for vectors without their store's common directions."""
    return f"{plain_name(model)}+centred"


def centred_profile(base: Profile, calibration_path: Path | None = None) -> Profile:
    """A model's profile for vectors without their store's common directions: other thresholds, all else the same.

    Raises:
        ConfigError: as `load_profile`.
    """
    name, table = centred_name(base.model), _profiles()
    given = dict(table.get(name) or table["other+centred"])
    return _calibrated(base.model_dump() | given, name, calibration_path)


def write_calibration(path: Path, model: str, thresholds: Mapping[str, float]) -> None:
    """Keep measured thresholds of a model beside those of others; the file is replaced as a whole.

    Raises:
        ConfigError: the file there cannot be read.
        InputError: a name is not among `THRESHOLDS`, or a value is not a cosine.
    """
    wrong = [name for name, value in thresholds.items() if name not in THRESHOLDS or not -1 <= value <= 1]
    if wrong or not thresholds:
        raise InputError(
            f"not a threshold: {', '.join(wrong) or 'nothing given'}. Known: {', '.join(THRESHOLDS)}."
        )
    everything = _calibrations(path) | {plain_name(model): dict(thresholds)}
    write_whole(path, json.dumps(everything, indent=2, sort_keys=True) + "\n")


def _calibrated(given: dict[str, Any], name: str, calibration_path: Path | None) -> Profile:
    """The profile of these values, and of the thresholds that were measured for this name."""
    measured = _calibrations(calibration_path).get(name, {})
    try:
        return Profile(**(given | measured | ({"calibrated": True} if measured else {})))
    except ValidationError as error:
        raise ConfigError(
            f"{calibration_path} holds a threshold for {name!r} that is not usable. "
            "Calibrate again or remove it."
        ) from error


def _given(name: str) -> dict[str, Any]:
    table = _profiles()
    plain = name.rpartition("/")[2].partition(":")[0].casefold()
    if found := table.get(name) or table.get(plain):
        return found
    families = (
        given for given in table.values() if any(fnmatchcase(plain, one) for one in given.get("names", ()))
    )
    return next(families, table["other"])


@cache
def _profiles() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("slowwave.models.embed") / "profiles.toml").read_text(encoding="utf-8"))


def plain_name(model: str) -> str:
    """A model's name without the tag that every model has."""
    return model.removesuffix(":latest")


def _calibrations(path: Path | None) -> dict[str, dict[str, float]]:
    if path is None or not path.is_file():
        return {}
    advice = f"{path} is not a calibration file. Remove it and calibrate again."
    try:
        everything = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(advice) from error
    if not isinstance(everything, dict):
        raise ConfigError(advice)
    for thresholds in everything.values():
        if not isinstance(thresholds, dict) or not set(thresholds) <= set(THRESHOLDS):
            raise ConfigError(advice)
    return everything
