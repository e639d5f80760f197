import json
import multiprocessing
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowwave.errors import ConfigError
from slowwave.models.cache import AnswerCache


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "answers.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[AnswerCache]:
    cache = AnswerCache(path)
    yield cache
    cache.close()


def _write_many(path: Path, name: str) -> None:
    cache = AnswerCache(path)
    for number in range(50):
        cache.set(f"{name}{number}", '{"n": 1}')
    cache.close()


def test_the_newest_answer_under_a_key_wins(cache: AnswerCache) -> None:
    cache.set("k", "1")
    cache.set("k", "2")
    assert cache.get("k") == "2"


def test_answers_outlive_the_object_that_wrote_them(cache: AnswerCache, path: Path) -> None:
    cache.set("k", "1")
    other = AnswerCache(path)
    assert other.get("k") == "1"
    other.close()


def test_many_threads_may_write_and_read_at_once(cache: AnswerCache) -> None:
    def work(name: str) -> None:
        for number in range(50):
            cache.set(f"{name}{number}", json.dumps(number))
            assert cache.get(f"{name}{number}") == str(number)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(cache.get(f"{name}{number}") == str(number) for name in "abcd" for number in range(50))


@pytest.mark.processes
def test_several_processes_may_write_the_same_file(cache: AnswerCache, path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write_many, args=(path, name)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert all(cache.get(f"{name}{number}") for name in "ab" for number in range(50))


def test_a_file_that_is_no_cache_is_named_with_the_cure(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database, and long enough to be read as one" * 50)
    with pytest.raises(ConfigError) as caught:
        AnswerCache(path)
    assert str(path) in str(caught.value)
    assert "can be deleted" in str(caught.value)


def test_a_cache_damaged_while_it_is_used_is_named_with_the_cure(path: Path) -> None:
    first = AnswerCache(path)
    for number in range(500):
        first.set(f"k{number}", json.dumps("x" * 200))
    first.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    second = AnswerCache(path)
    with pytest.raises(ConfigError, match="can be deleted"):
        [second.get(f"k{number}") for number in range(500)]
    second.close()


def test_a_folder_that_cannot_be_made_is_a_matter_of_configuration(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="folder cannot be used"):
        AnswerCache(tmp_path / "file" / "answers.sqlite")
