"""Pure rules about memories over time: current values, repetitions, retention."""
