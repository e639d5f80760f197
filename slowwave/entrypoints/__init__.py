"""The faces: each parses what it is given, calls one function and shows what came back."""
