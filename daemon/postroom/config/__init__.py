"""Settings: read, checked, and every fault told at once."""
