"""How busy is the server? Prometheus metrics under the names dashboards know."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from allaboard.cluster.server.exchange import ApiResponse

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 60.0)


class Metrics:
    """One registry per server, so that several servers in a process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "apiserver_request",
            "Requests answered, by verb, resource and status code.",
            ("verb", "resource", "code"),
            registry=self.registry,
        )
        self.latency = Histogram(
            "apiserver_request_duration_seconds",
            "Time from the first byte of a request to its answer, watches left out.",
            ("verb",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.watchers = Gauge(
            "apiserver_longrunning_requests", "Open watches.", registry=self.registry
        )
        self.refused = Counter(
            "apiserver_request_terminations",
            "Requests turned away because too many were in flight.",
            registry=self.registry,
        )
        self._counts: dict[tuple[str, str, int], int] = {}  # since somebody last asked

    def count(self, verb: str, resource: str, code: int) -> None:
        key = (verb, resource, code)
        self._counts[key] = self._counts.get(key, 0) + 1

    def answer(self) -> ApiResponse:
        for (verb, resource, code), count in self._counts.items():
            self.requests.labels(verb, resource, str(code)).inc(count)
        self._counts.clear()
        text = generate_latest(self.registry)
        return ApiResponse(200, text=text, content_type=CONTENT_TYPE)
