"""Metrics for Prometheus, and spans and metrics by OpenTelemetry. Labels are templates of routes, never paths."""

import os
import re
from collections.abc import MutableMapping
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CollectorRegistry
from prometheus_fastapi_instrumentator import Instrumentator

from slowwave.errors import ConfigError
from slowwave.settings.groups import ServerSettings

BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Bounds of the histogram of latencies, in seconds."""

METHODS = frozenset({"GET", "POST"})
_PATH = re.compile(r"/(?:v1|hooks|mcp|health|metrics|openapi\.json)(?:/[A-Za-z0-9_-]{1,64})*/?")
"""The paths of this server: their last parts are fixed, or ids."""
_HOST = re.compile(rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?")


def telemetry_of(settings: ServerSettings) -> TelemetryConfig:
    """FastAPI's own telemetry: off, or spans and metrics to the exporters of the `OTEL_` environment; no log records.

    Raises:
        ConfigError: it is on, and the SDK is not installed or no exporter is named.
    """
    if settings.telemetry == "off":
        return {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
    if not any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ):
        raise ConfigError(
            "server.telemetry is on, and the environment names no OTEL_EXPORTER_OTLP_ENDPOINT: set it"
        )
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter") is None:
        raise ConfigError(
            "server.telemetry is on, and its exporter is missing: pip install opentelemetry-sdk "
            "opentelemetry-exporter-otlp-proto-http"
        )
    return {"logs": False, "operation_spans": False, "auto_configure": True, "exclude": may_tell}


def may_tell(scope: MutableMapping[str, Any]) -> bool:
    """Return whether a span of this request might carry words of the client: its query, path, method or host would."""
    if scope["type"] != "http":
        return True
    host = dict(scope["headers"]).get(b"host", b"")
    is_plain = scope["method"] in METHODS and _PATH.fullmatch(scope["path"]) and _HOST.fullmatch(host)
    return bool(scope.get("query_string")) or not is_plain


def add_metrics(app: FastAPI) -> None:
    """Count requests by route, method and status, with their latencies, at `/metrics`."""
    registry = CollectorRegistry()  # of this app alone
    meter = Instrumentator(
        should_ignore_untemplated=True,
        excluded_handlers=["/metrics", "/health/.*"],
        registry=registry,
    )
    meter.instrument(
        app, metric_namespace="slowwave", latency_lowr_buckets=BUCKETS, should_only_respect_2xx_for_highr=True
    ).expose(app, endpoint="/metrics", include_in_schema=False)
