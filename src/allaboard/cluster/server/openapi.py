"""Where are the OpenAPI documents? The index, one document a group and version, and the old one."""

from allaboard.cluster.openapi.publication import Publication, Published
from allaboard.cluster.server.catalogue import Catalogue
from allaboard.cluster.server.exchange import ApiRequest, ApiResponse
from allaboard.cluster.server.negotiate import clauses


class OpenApi:
    def __init__(self, catalogue: Catalogue) -> None:
        self._publication = Publication(catalogue.all)

    def answer(self, request: ApiRequest, rest: list[str]) -> ApiResponse | None:
        """None where there is no such document."""
        match rest:
            case ["v3"]:
                return ApiResponse(200, body=self._publication.index())
            case ["v3", *parts]:
                found = self._publication.v3("/".join(parts))
                return self._document(request, found) if found is not None else None
            case ["v2"]:
                if accepts_only_protobuf(request.headers.get("accept", "")):
                    return ApiResponse(406, text=b"", content_type="text/plain; charset=utf-8")
                return self._document(request, self._publication.v2())
        return None

    def _document(self, request: ApiRequest, document: Published) -> ApiResponse:
        tag = f'"{document.hash}"'
        if request.headers.get("if-none-match") == tag:
            return ApiResponse(304, text=b"", headers=[("Etag", tag)])
        response = ApiResponse(200, text=document.body, content_type="application/json")
        response.headers.append(("Etag", tag))
        if request.query.get("hash") == document.hash:
            response.headers.append(("Cache-Control", "public, immutable"))
        return response


def accepts_only_protobuf(accept: str) -> bool:
    """Old clients ask for a protobuf form of the v2 document, some of them for nothing else."""
    if not accept:
        return False
    plain = ("application/json", "*/*", "application/*")
    return not any(media in plain for media, _ in clauses(accept))
