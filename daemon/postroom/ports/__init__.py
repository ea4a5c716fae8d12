"""Protocols only: what the roads need of the world, and the tree of our exceptions."""
