"""Where are the OpenAPI documents? The index, one document a group and version, and the old one."""

from allaboard.cluster.openapi.protobuf import MEDIA, first_choice
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
                asked = [media for media, _ in clauses(request.headers.get("accept", ""))]
                if first_choice(asked):
                    found = self._publication.v2_protobuf()
                    return self._document(request, found, MEDIA.replace("@", "."))
                return self._document(request, self._publication.v2())
        return None

    def _document(
        self, request: ApiRequest, document: Published, media: str = "application/json"
    ) -> ApiResponse:
        tag = f'"{document.hash}"'
        if request.headers.get("if-none-match") == tag:
            return ApiResponse(304, text=b"", headers=[("Etag", tag)])
        response = ApiResponse(200, text=document.body, content_type=media)
        response.headers.append(("Etag", tag))
        if request.query.get("hash") == document.hash:
            response.headers.append(("Cache-Control", "public, immutable"))
        return response
