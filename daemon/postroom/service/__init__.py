"""Builds and joins the parts; the only place that does."""
