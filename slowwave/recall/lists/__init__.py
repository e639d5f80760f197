"""Lists: memories, people and things, conversations and topics, a page at a time; and one memory whole."""
