"""Link: people and things behind names, what led to what, and who or what an entity is."""
