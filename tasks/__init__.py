"""The outside world under Prefect: batches that are worth a line in the run's page."""
