"""Metrics for Prometheus, and spans and metrics by OpenTelemetry. Labels are templates of routes, never paths."""

import os
from collections.abc import MutableMapping
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CollectorRegistry
from prometheus_fastapi_instrumentator import Instrumentator

from slowwave.errors import ConfigError
from slowwave.settings.server import ServerSettings

BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Bounds of the histogram of latencies, in seconds."""


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
    return {"logs": False, "operation_spans": False, "auto_configure": True, "exclude": _asks_by_query}


def _asks_by_query(scope: MutableMapping[str, Any]) -> bool:
    """Return whether a request says in its query what it asks: spans would carry that."""
    return bool(scope.get("query_string"))


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
