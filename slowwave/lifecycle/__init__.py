"""Rules about memories over time: which value holds, what says the same, what fades. Nothing here reads or writes."""
