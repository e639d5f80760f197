"""Topics: memories are clustered, and topics get summaries of what holds now."""
