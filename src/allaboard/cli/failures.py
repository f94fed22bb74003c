"""How does a command say that it failed? One sentence with a way out, and an exit code."""


class Failure(Exception):
    """An operation failed; the text is for the person at the terminal."""

    exit_code = 1


class BadInput(Failure):
    """What was given cannot be used; nothing was done."""

    exit_code = 2
