"""Prefixes, limits and thresholds of each embedding model."""

import hashlib
import json
import tomllib
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


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
    near_threshold: float = Field(ge=-1, le=1)
    relevance_threshold: float = Field(ge=-1, le=1)


def load_profile(model: str, *, query: str | None = None, document: str | None = None) -> Profile:
    """The profile of a model: by its name, by its name without owner and tag, else the one for unknown models.

    Prefixes that are given replace its own, and its version names them then.
    """
    name = plain_name(model)
    given = {key: value for key, value in _given(name).items() if key != "names"}
    profile = Profile(**(given | {"model": name}))
    if query is None and document is None:
        return profile
    prefixes = {
        "query_prefix": profile.query_prefix if query is None else query,
        "document_prefix": profile.document_prefix if document is None else document,
    }
    digest = hashlib.sha256(json.dumps([*prefixes.values()]).encode()).hexdigest()[:8]
    return profile.model_copy(update={**prefixes, "prefix_version": f"p{digest}"})


def centred_profile(base: Profile) -> Profile:
    """A model's profile for vectors without their store's common directions: other thresholds, all else the same."""
    table = _profiles()
    return base.model_copy(update=table.get(f"{base.model}+centred") or table["other+centred"])


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
