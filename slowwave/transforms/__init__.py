"""Pure Polars: frames and expressions in, frames and expressions out; no clock, no chance, no outside world."""
