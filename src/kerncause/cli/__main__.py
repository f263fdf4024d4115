"""Run the command line: `python -m kerncause.cli`."""

from kerncause.cli import main

if __name__ == "__main__":
    main()
