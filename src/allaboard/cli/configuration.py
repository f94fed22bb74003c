"""Which settings does a Configuration file give the queueing controllers?"""

from allaboard.cli.documents import read_documents
from allaboard.cli.failures import BadInput
from allaboard.queueing.config import ConfigError, Settings, load


def read_config(path: str | None) -> Settings:
    """The settings in the file, or the defaults; what cannot be used is refused."""
    if path is None:
        return Settings()
    documents = [data for _, data in read_documents([path])]
    if len(documents) != 1:
        raise BadInput(f"--config {path}: expected one Configuration, found {len(documents)}")
    try:
        return load(documents[0])
    except ConfigError as error:
        raise BadInput(f"--config {path}: {error}") from None
