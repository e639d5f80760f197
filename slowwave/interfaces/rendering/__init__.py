"""Results as text, in one place: a result becomes blocks, and blocks become terminal text or an agent's page."""
