"""A result made visible: pictures, and a page that opens anywhere."""

from kerncause.graphs import PDAG
from kerncause.report.facts import facts
from kerncause.report.figure import drawn, save_picture
from kerncause.report.page import page
from kerncause.report.svg import as_svg
from kerncause.result import Result

__all__ = ["as_svg", "drawn", "facts", "page", "report_of", "save_picture"]


def report_of(result: Result, truth: PDAG | None = None) -> str:
    """Return the report on a result, as the text of one HTML file."""
    return page(facts(result, truth), as_svg(drawn(result), adaptive=False))
