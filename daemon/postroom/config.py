"""Settings: read, check, say what is wrong."""
