"""Records a model's answers, so that `make demo` and the tests replay a night without the model.

A server on this machine passes each question on to a real one and writes its answer to a file:

    python benchmarks/record_answers.py --upstream http://127.0.0.1:11434/v1 --out FILE --port N

`benchmarks/replay.py` says what a line of the file is, and answers from it.
"""

import argparse
import http.client
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import cast
from urllib.parse import SplitResult, urlsplit

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.replay import (  # noqa: E402
    Body,
    Replay,
    answer_name,
    completion,
    failure,
    read_recording,
    replaying,
    request_hash,
    serving,
)
from slowwave.errors import ConfigError, SlowwaveError  # noqa: E402

UPSTREAM_SECONDS = 300.0


@contextmanager
def recording(
    upstream_base_url: str, path: Path, *, port: int = 0, seconds: float = UPSTREAM_SECONDS
) -> Iterator[Replay]:
    """A server that passes new questions to a real one and appends what it answers to the file at `path`.

    What is already in the file is answered from it, so that a recording that was cut off goes on; remove the
    file to record everything anew. The answers go out in the form in which a replay will give them.

    Raises:
        ConfigError: the upstream address is none, or the file is not a recording.
    """
    upstream = urlsplit(upstream_base_url.rstrip("/"))
    if upstream.scheme not in ("http", "https") or not upstream.hostname:
        raise ConfigError(f"{upstream_base_url!r} is no address. Give one like http://127.0.0.1:8000/v1.")
    entries = read_recording(path) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    writing = threading.Lock()

    def respond(body: Body, key: str) -> tuple[int, Body]:
        request = request_hash(body)
        if request in entries:
            return HTTPStatus.OK, completion(entries[request], body)
        status, said = _ask_upstream(upstream, body, key, seconds)
        if status != HTTPStatus.OK or not said.get("choices"):
            return status, said
        entry = {
            "prompt": answer_name(body),
            "request": request,
            **_kept(said, is_tool=bool(body.get("tools"))),
        }
        with writing:
            if request not in entries:  # asked twice at once: the first answer is the one
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(entry, ensure_ascii=False) + "\n")
                entries[request] = entry
        return HTTPStatus.OK, completion(entries[request], body)

    with serving(respond, port=port) as replay:
        yield replay


def _kept(said: Body, *, is_tool: bool) -> Body:
    """What a recording keeps of a completion: the answer as JSON where it is such, else the whole message."""
    choice = said["choices"][0]
    message = choice.get("message") or {}
    calls = message.get("tool_calls") or []
    text = str(calls[0]["function"]["arguments"] if calls else message.get("content"))
    used = said.get("usage") or {}
    sent, received = used.get("prompt_tokens") or 0, used.get("completion_tokens") or 0
    counted = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
    usage = {"usage": counted} if sent and received else {}
    is_clean = choice.get("finish_reason") in ("stop", "tool_calls", None) and len(calls) == int(is_tool)
    if is_clean and not message.get("refusal"):
        try:
            return {"answer": json.loads(text), **usage}
        except ValueError:
            pass  # not JSON: kept as it came
    kept = {name: message.get(name) for name in ("content", "refusal", "tool_calls") if message.get(name)}
    return {"message": {**kept, "finish_reason": choice.get("finish_reason") or "stop"}, **usage}


def _ask_upstream(upstream: SplitResult, body: Body, key: str, seconds: float) -> tuple[int, Body]:
    secure = upstream.scheme == "https"
    connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = connect(cast(str, upstream.hostname), upstream.port, timeout=seconds)
    headers = {"Content-Type": "application/json", **({"Authorization": key} if key else {})}
    try:
        connection.request("POST", f"{upstream.path}/chat/completions", json.dumps(body).encode(), headers)
        response = connection.getresponse()
        said = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        return HTTPStatus.BAD_GATEWAY, failure(
            f"the upstream server failed ({type(error).__name__})", "upstream"
        )
    finally:
        connection.close()
    return response.status, said if isinstance(said, dict) else failure(
        "the upstream sent no object", "upstream"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Record until Ctrl-C; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--upstream",
        help="base address of an OpenAI-compatible server, with /v1; without it, only recorded answers are given",
    )
    parser.add_argument(
        "--out", required=True, type=Path, help="the recording; questions that it holds are answered from it"
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--timeout", type=float, default=UPSTREAM_SECONDS, help="seconds for one answer")
    given = parser.parse_args(arguments)
    try:
        with (
            recording(given.upstream, given.out, port=given.port, seconds=given.timeout)
            if given.upstream
            else replaying(given.out, port=given.port)
        ) as server:
            print(f"SLOWWAVE_LLM__PROVIDER=openai SLOWWAVE_LLM__BASE_URL={server.base_url}", flush=True)
            threading.Event().wait()
    except SlowwaveError as error:
        print(f"slowwave: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
