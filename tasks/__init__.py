"""The work of the night: what each flow finds, asks, plans and commits, under the name of its flow."""
