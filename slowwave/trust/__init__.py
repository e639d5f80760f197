"""Trust: whose word a text is, by its structure and by the evidence that it rests on."""
