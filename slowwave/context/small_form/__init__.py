"""The small form: the few memories that a message itself calls for, with what changed them later."""
