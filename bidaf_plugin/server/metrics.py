from bisect import bisect_left
from collections import Counter
from threading import Lock
from typing import Dict, Iterable, List, Sequence, Tuple

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)


class Histogram:
    """
    A histogram of Prometheus.

    # Parameters

    bounds : `Sequence[float]`
        The upper bounds of its buckets, inclusive, but for the last one, which has none.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: str = "") -> Iterable[str]:
        total = 0
        separator = "," if labels else ""
        for bound, count in zip([*self._bounds, "+Inf"], self._counts, strict=True):
            total += count
            yield f'{name}_bucket{{{labels}{separator}le="{bound}"}} {total}'
        in_braces = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{in_braces} {self._sum:.6f}"
        yield f"{name}_count{in_braces} {total}"


class Metrics:
    """What the server has done so far, in numbers. It may be told from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[Tuple[str, str, int]] = Counter()
        self._seconds: Dict[str, Histogram] = {}
        self._batch_sizes = Histogram(_BATCH_SIZES)

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds.setdefault(route, Histogram(_SECONDS)).observe(seconds)

    def observe_batch(self, num_questions: int) -> None:
        with self._lock:
            self._batch_sizes.observe(num_questions)

    def to_text(self, queue_length: int) -> str:
        """All of it in the text format of Prometheus."""
        with self._lock:
            lines = [
                *_header("bidaf_requests_total", "counter", "Requests by route and status."),
                *(
                    f'bidaf_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
                    for (method, route, status), count in sorted(self._requests.items())
                ),
                *_header("bidaf_request_seconds", "histogram", "From request to response."),
            ]
            for route, histogram in sorted(self._seconds.items()):
                lines += histogram.lines("bidaf_request_seconds", f'route="{route}"')
            lines += _header("bidaf_batch_size", "histogram", "Questions read together.")
            lines += self._batch_sizes.lines("bidaf_batch_size")
        lines += _header("bidaf_queue_length", "gauge", "Questions that wait for their answers.")
        lines.append(f"bidaf_queue_length {queue_length}")
        return "\n".join(lines) + "\n"


def _header(name: str, kind: str, text: str) -> List[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
