"""A reader process that stays warm between questions."""
