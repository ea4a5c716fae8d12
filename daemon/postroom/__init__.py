"""Postroom: durable two-way mail queueing for agents and local programs."""

__version__ = "0.1.0"
