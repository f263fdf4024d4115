"""The words and signs of a file, one after the other: what the readers of DOT and of DAGitty's language share."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kerncause.errors import GraphError
from kerncause.text import quoted


class Token(NamedTuple):
    """A word or sign of the file; kind is quoted, bare, mark or end."""

    kind: str
    text: str
    line: int

    @property
    def is_name(self) -> bool:
        """Whether it can be a name or a value."""
        return self.kind in ("quoted", "bare")

    @property
    def keyword(self) -> str:
        """The word in small letters, if it is not in quotes and so may be a keyword."""
        return self.text.lower() if self.kind == "bare" else ""


@dataclass(frozen=True)
class Language:
    """How a language is cut into tokens.

    Attributes:
        pattern: matches one token, by the groups space, quoted, bare and mark.
        unescaped: gives what stands between quotes its meaning.
        cure: what to do where nothing matches.
    """

    pattern: re.Pattern[str]
    unescaped: Callable[[str], str]
    cure: str

    def tokens(self, text: str) -> Iterator[Token]:
        """Cut a text; the last token is the end."""
        at, line = 0, 1
        while at < len(text):
            match = self.pattern.match(text, at)
            if match is None:
                raise GraphError(f"line {line}: {quoted(text[at : at + 20])} cannot be read: {self.cure}")
            kind, found = str(match.lastgroup), match.group()
            if kind == "quoted":
                yield Token(kind, self.unescaped(found[1:-1]), line)
            elif kind != "space":
                yield Token(kind, found, line)
            at, line = match.end(), line + found.count("\n")
        yield Token("end", "the end", line)


class Tokens:
    """The tokens of a file, taken one after the other."""

    def __init__(self, text: str, language: Language) -> None:
        self._rest = language.tokens(text)
        self.next = next(self._rest)

    def take(self) -> Token:
        """Return the next token and move on; the end stays."""
        token = self.next
        self.next = next(self._rest, token)
        return token

    def sees(self, *marks: str) -> bool:
        """Tell whether one of these marks comes next."""
        return self.next.kind == "mark" and self.next.text in marks

    def skip(self, *marks: str) -> bool:
        """Move on if one of these marks comes next."""
        found = self.sees(*marks)
        if found:
            self.take()
        return found

    def name(self) -> Token:
        """Take a name or a value; refuse anything else."""
        token = self.take()
        if token.kind == "end":
            raise GraphError(f"line {token.line}: the file ends inside the graph: close it with }}")
        if not token.is_name:
            raise GraphError(f"line {token.line}: a name is wanted where {quoted(token.text)} stands: correct it there")
        return token
