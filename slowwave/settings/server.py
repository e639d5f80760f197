"""The group of settings of the one server."""

from typing import Literal

from slowwave.settings.groups import Group, setting


class ServerSettings(Group):
    """The one server: HTTP, and MCP over HTTP, on the loopback."""

    port: int = setting(4280, "First port that is tried.", ge=1, le=65_535)
    port_tries: int = setting(
        20, "Ports that are tried, one after the other, until one is free.", ge=1, le=1_000
    )
    reads: int = setting(2, "Questions answered at once; more wait their turn.", ge=1, le=64)
    writes: int = setting(8, "Writes carried out at once; more wait their turn.", ge=1, le=64)
    waiting: int = setting(
        256, "Requests that may wait for their turn; beyond them the answer is 503.", ge=1, le=10_000
    )
    body_bytes: int = setting(8_000_000, "Largest body of a request.", ge=10_000, le=1_000_000_000)
    head_seconds: float = setting(10.0, "So long the head of a request may take to arrive.", gt=0, le=600)
    body_seconds: float = setting(20.0, "So long the body of a request may take to arrive.", gt=0, le=600)
    connections: int = setting(512, "Connections held open at once.", ge=8, le=10_000)
    stop_seconds: float = setting(
        20.0, "So long requests may take to end when the server stops.", gt=0, le=600
    )
    flush_seconds: float = setting(
        5.0, "Seconds between two writes of what was used; a kill loses no more than these.", gt=0, le=600
    )
    runs: int = setting(2, "Flows that run at once for the server.", ge=1, le=16)
    run_niceness: int = setting(
        10, "How far a flow steps back for questions: 0 not at all, 19 as far as it can.", ge=0, le=19
    )
    kept_runs: int = setting(100, "Reports of flows that are kept, newest first.", ge=1, le=10_000)
    telemetry: Literal["off", "on"] = setting(
        "off",
        "Spans and metrics by OpenTelemetry: `on` takes the exporters from the `OTEL_` environment. Log records, texts "
        "and requests with a query string, or with anything but names and ids in their path, are left out.",
    )
