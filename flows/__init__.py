"""The stories of the night, one verb a file; each runs alone from Prefect's page."""
