import json
import multiprocessing
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from instructor.cache import load_cached_response, store_cached_response

from slowwave.errors import ConfigError, ContractError
from slowwave.llm.answer_cache import AnswerCache
from slowwave.prompting.answers import Answer


class Note(Answer):
    reason: str
    is_worth_remembering: bool


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "answers.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[AnswerCache]:
    cache = AnswerCache(path)
    yield cache
    cache.close()


def _bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def _write_many(path: Path, name: str) -> None:
    cache = AnswerCache(path)
    for number in range(50):
        cache.set(f"{name}{number}", '{"n": 1}')
    cache.close()


def test_an_unknown_key_is_a_miss(cache: AnswerCache) -> None:
    assert cache.get("k") is None


def test_a_model_comes_back_as_its_json_text(cache: AnswerCache) -> None:
    cache.set("k", Note(reason="é \n", is_worth_remembering=True))
    assert Note.model_validate_json(cache.get("k") or "").reason == "é \n"


def test_the_newest_answer_under_a_key_wins(cache: AnswerCache) -> None:
    cache.set("k", "1")
    cache.set("k", "2", ttl=5)
    assert cache.get("k") == "2"


@pytest.mark.parametrize("value", ["not json", b"{}", {"a": 1}, None, object()])
def test_what_is_neither_a_model_nor_json_text_is_refused(cache: AnswerCache, value: object) -> None:
    with pytest.raises(ContractError):
        cache.set("k", value)
    assert cache.get("k") is None


def test_instructors_own_store_and_load_work_over_it(cache: AnswerCache) -> None:
    store_cached_response(cache, "k", Note(reason="r", is_worth_remembering=False))
    loaded = load_cached_response(cache, "k", Note)
    assert loaded == Note(reason="r", is_worth_remembering=False)


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


def test_purge_removes_what_holds_the_text_and_keeps_the_rest(cache: AnswerCache) -> None:
    cache.set("one", Note(reason='She said "Blue Heron" twice', is_worth_remembering=True))
    cache.set("two", Note(reason="something else", is_worth_remembering=True))
    assert cache.purge("blue heron") == 1
    assert cache.get("one") is None
    assert cache.get("two") is not None
    assert cache.purge("blue heron") == 0


def test_purge_finds_text_that_was_put_on_one_line(cache: AnswerCache) -> None:
    cache.set("k", Note(reason="the key is under the mat", is_worth_remembering=True))
    assert cache.purge("under\n   the mat") == 1


@pytest.mark.parametrize("text", ['a "quoted" word', "two\nlines", "Grüße", "back\\slash"])
def test_purge_finds_text_behind_json_escapes(cache: AnswerCache, text: str) -> None:
    answer = Note(reason=f"x {text} y", is_worth_remembering=True)
    cache.set("plain", answer)
    cache.set("escaped", json.dumps({"reason": f"x {text} y"}, ensure_ascii=True))
    store_cached_response(cache, "nested", answer)
    assert cache.purge(text) == 3


def test_an_empty_text_purges_everything(cache: AnswerCache) -> None:
    cache.set("a", "1")
    cache.set("b", "2")
    assert cache.purge("") == 2


def test_purged_text_is_gone_from_the_bytes_on_disk(cache: AnswerCache, path: Path) -> None:
    cache.set("overwritten", Note(reason="unforgettable-before", is_worth_remembering=True))
    cache.set("overwritten", Note(reason="nothing", is_worth_remembering=True))
    for number in range(200):
        cache.set(f"k{number}", Note(reason=f"unforgettable-{number}", is_worth_remembering=True))
    assert b"unforgettable-" in _bytes_of(path)
    assert cache.purge("unforgettable-") == 200
    assert b"unforgettable-" not in _bytes_of(path)


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
    with pytest.raises(ConfigError, match="cannot be made"):
        AnswerCache(tmp_path / "file" / "answers.sqlite")
