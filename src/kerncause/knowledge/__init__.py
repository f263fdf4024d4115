"""Background knowledge: which edges there must be, and which there cannot be."""

from kerncause.knowledge.file import read_knowledge
from kerncause.knowledge.knowledge import Knowledge
from kerncause.knowledge.limits import Limits

__all__ = ["Knowledge", "Limits", "read_knowledge"]
