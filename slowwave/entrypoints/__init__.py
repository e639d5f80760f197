"""The faces: each parses its input, calls `Memory` and shows the result."""
