"""Processes that begin with the slow imports behind them: forked from one that has nothing but imported them.

A new interpreter spends some ten seconds on imports before a night can begin in it. `start` forks instead, from
multiprocessing's fork server. A fork is sound only from a process of one thread, and LanceDB and Polars start
threads when they are imported: the server holds the large plain libraries alone, and each child imports the
rest for itself. `assert_sound` says so in every child.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

PRELOADED = (
    "prefect",
    "prefect.artifacts",
    "prefect.cache_policies",
    "prefect.context",
    "prefect.runtime.flow_run",
    "lance_namespace",  # the models of LanceDB's cloud: its slowest part, and plain pydantic
    "openai.resources",
    "openai.resources.chat",
    "instructor",
    "ollama",
    "scipy.cluster.hierarchy",
    "markdown_it",
    "jinja2",
    "tokenizers",
    "typer",
)
THREADED = ("polars", "pyarrow", "lancedb")


def start(work: Callable[..., None], *arguments: object) -> tuple[ForkServerProcess, Connection]:
    """A process that does `work(connection, *arguments)`, and this end of its connection.

    `work` is a function of a module that can be imported. The process has the environment of the moment in which
    the first one was started.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    here, there = context.Pipe()
    process = context.Process(target=work, args=(there, *arguments), daemon=True)
    process.start()
    there.close()
    return process, here


def assert_sound() -> None:
    """In a child, first of all: its parent has one thread and none of the libraries that start more."""
    inherited = [name for name in THREADED if name in sys.modules]
    assert inherited == []
    assert "prefect" in sys.modules, "the server has not imported what it is there for"
    tasks = Path(f"/proc/{os.getppid()}/task")
    if tasks.is_dir():
        assert len(list(tasks.iterdir())) == 1, "a fork of a process with threads may wait for ever"
