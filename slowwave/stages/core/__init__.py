"""Core memory: the few memories that are always in the prompt."""
