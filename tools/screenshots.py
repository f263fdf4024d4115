"""Take the pictures of the report in docs/images: on a desk, on a phone, in the dark.

    make screenshots

The report is that of the first 500 rows of the bundled SACHS sample, against the true network, its edges counted in ten
halves of the rows.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from playwright.sync_api import Browser, Page, sync_playwright

import kerncause
from kerncause.networks import load

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "docs" / "images"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
LARGEST = 250_000


@dataclass(frozen=True)
class Shot:
    """One picture.

    Attributes:
        name: of the file.
        width: of the window.
        height: of the window.
        dark: whether the reader has asked for dark pages.
        sharpness: dots per pixel.
        clicks: what is clicked before.
        at: what the window is scrolled to; the top if empty.
    """

    name: str
    width: int
    height: int
    dark: bool = False
    sharpness: float = 1.0
    clicks: tuple[str, ...] = ()
    at: str = ""


ROWS = 500
SHOTS = (
    Shot("report-sachs.png", 1280, 900, clicks=("[data-finding='Strongest edge']",)),
    Shot("report-dark.png", 1280, 900, dark=True, clicks=("[data-view=truth]", "[data-finding='Least certain edge']")),
    Shot("report-phone.png", 390, 844, sharpness=2.0, at="main"),
)


def main() -> None:
    """Make the report and take every picture."""
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        report = make_report(Path(scratch))
        for shot in SHOTS:
            path = PLACE / shot.name
            with page_of(browser, report, shot) as page:
                page.screenshot(path=path)
            if path.stat().st_size > LARGEST:
                sys.exit(f"{path.name} has {path.stat().st_size:,} bytes, more than {LARGEST:,}: make it smaller")
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


def make_report(place: Path) -> Path:
    """Learn the graph of a part of the sample and write its report."""
    table = place / "sachs.csv"
    pd.read_csv(ROOT / "examples" / "sachs.csv").head(ROWS).to_csv(table, index=False)
    result = kerncause.discover(table, confidence=10)
    return result.report(place / "report.html", load("sachs").dag)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium, or the one that CHROMIUM names."""
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        sys.exit("The pictures need Chromium: apt-get install chromium, or name one in CHROMIUM.")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def page_of(browser: Browser, report: Path, shot: Shot) -> Iterator[Page]:
    """Open the report as a picture wants it."""
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme="dark" if shot.dark else "light",
        device_scale_factor=shot.sharpness,
        reduced_motion="reduce",
        offline=True,
    )
    page = context.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("body[data-ready]")
    for place in shot.clicks:
        page.click(place)
    page.evaluate("(place) => place ? document.querySelector(place).scrollIntoView() : scrollTo(0, 0)", shot.at)
    page.wait_for_timeout(300)
    yield page
    context.close()


if __name__ == "__main__":
    main()
