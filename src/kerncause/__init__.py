"""Causal graphs from tables."""
__version__ = "0.1.0"
