"""Export: all of a memory for another home, as Markdown for people, or as a graph for other programs."""
