"""Figures that must be measured, not tested: `make bench` prints them and writes RESULTS.md."""
