"""A mail's way in."""
