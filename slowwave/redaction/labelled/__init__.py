"""Values near a label: the words that name a secret, and the ways in which text gives them a value."""
