"""The night as a whole: its gate, upkeep, record and story."""
