"""Prefect's page with a worker and all deployments."""
