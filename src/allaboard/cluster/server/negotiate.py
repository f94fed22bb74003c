"""In which form does the client want its answer, and in which did it send its body?

An answer is an object or a list, a `Table` for people, or metadata alone; as JSON or YAML. The
first clause of `Accept` that can be served wins, ordered by quality. Protobuf and CBOR are not
served: clients that offer only those get 406, as from any server without the format.
"""

from dataclasses import dataclass
from functools import lru_cache

from allaboard.api.errors import NotAcceptable, UnsupportedMedia
from allaboard.cluster.server.exchange import JSON, YAML

META_VERSIONS = ("v1", "v1beta1")
TRANSFORMS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
MEDIA = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
STREAMS = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"


@dataclass(frozen=True, slots=True)
class Form:
    """How to render an answer; `shape` is '' for the object itself."""

    media: str = JSON
    shape: str = ""
    version: str = "v1"
    pretty: bool = False


PLAIN = Form()


@lru_cache(maxsize=512)
def clauses(accept: str) -> tuple[tuple[str, dict[str, str]], ...]:
    """The media ranges of an Accept header, best first; equal quality keeps the client's order."""
    found = []
    for position, clause in enumerate(accept.split(",")):
        media, *pairs = (part.strip() for part in clause.split(";"))
        parameters = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        try:
            quality = float(parameters.get("q", "1"))
        except ValueError:
            quality = 1.0
        found.append((-quality, position, media.lower(), parameters))
    return tuple((media, parameters) for _, _, media, parameters in sorted(found, key=_order))


def _order(clause: tuple[float, int, str, dict[str, str]]) -> tuple[float, int]:
    return clause[0], clause[1]


def _media(asked: str) -> str:
    if asked in (JSON, "*/*", "application/*", ""):
        return JSON
    return YAML if asked in (YAML, "application/x-yaml") else ""


def choose(accept: str, transforms: bool = True, watching: bool = False) -> Form:
    """The best form this server has for an Accept header, or 406."""
    if accept in ("", JSON, "*/*"):
        return PLAIN
    known_media = False
    for asked, parameters in clauses(accept):
        media = _media(asked)
        if not media:
            continue
        known_media = True
        shape = parameters.get("as", "")
        if not shape:
            if "g" in parameters or "v" in parameters:
                continue
            return Form(media)
        version = parameters.get("v", "v1")
        if (
            transforms
            and shape in TRANSFORMS
            and parameters.get("g", "") == "meta.k8s.io"
            and version in META_VERSIONS
        ):
            return Form(media, shape, version)
    if known_media:
        raise NotAcceptable(f"only the following media types are accepted: {MEDIA}")
    tail = f", {STREAMS}" if watching else ""
    raise NotAcceptable(
        f"406: Not Acceptable\n\nAvailable representations: {MEDIA}{tail}", details={}
    )


def check_body_type(content_type: str, allowed: tuple[str, ...], listing: str) -> None:
    if content_type not in allowed:
        raise UnsupportedMedia(
            "the body of the request was in an unknown format - accepted media types include:"
            f" {listing}"
        )
