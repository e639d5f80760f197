"""The steps of cluster: every memory gets a topic, equal names merge, and topics that grew too large are split."""
