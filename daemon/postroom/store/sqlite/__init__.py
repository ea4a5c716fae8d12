"""The store in one SQLite file: one writer, two readers, every write a unit."""
