"""`python -m allaboard.cli` is the same as the console script."""

from allaboard.cli.main import main

if __name__ == "__main__":
    main()
