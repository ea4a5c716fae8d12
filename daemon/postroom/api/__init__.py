"""HTTP over the Unix socket: from a request to an answer, and nothing of how it comes about."""
