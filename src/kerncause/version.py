"""The version of kerncause, where everything can find it."""

__version__ = "0.1.0"
