"""Which documents do these files hold? Files, folders, or standard input as `-`.

Every document comes with words for where it was found, for errors that people can act on.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from allaboard.api import yaml_text
from allaboard.cli.failures import BadInput

ENDINGS = (".yaml", ".yml", ".json")
MAX_FILE_BYTES = 256 * 1024 * 1024


def read_documents(paths: Iterable[str]) -> list[tuple[str, Any]]:
    """(where, data) of every document, in the order given; folders by file name."""
    documents: list[tuple[str, Any]] = []
    for path in paths:
        for name, raw in _contents(path):
            documents += _parse(name, raw)
    return documents


def _contents(path: str) -> Iterable[tuple[str, bytes]]:
    if path == "-":
        yield "standard input", sys.stdin.buffer.read(MAX_FILE_BYTES)
        return
    place = Path(path)
    try:
        if place.is_dir():
            for file in sorted(p for p in place.iterdir() if p.suffix in ENDINGS):
                yield str(file), file.read_bytes()
        elif place.exists() and place.stat().st_size > MAX_FILE_BYTES:
            raise BadInput(f"{path}: larger than {MAX_FILE_BYTES} bytes")
        else:
            yield path, place.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None


def _parse(name: str, raw: bytes) -> list[tuple[str, Any]]:
    try:
        found = yaml_text.read_documents(raw)
    except yaml_text.BadYaml as error:
        raise BadInput(f"{name}, {error.located()}") from None
    for document in found:
        if document.repeated:  # one of the two would be lost without a word
            raise BadInput(f"{name}, document {document.number}: {document.repeated[0]}")
    return [(f"{name}, document {document.number}", document.data) for document in found]
