"""The decisions: pure functions and values, without clock, chance, files or network."""
