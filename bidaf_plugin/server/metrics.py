from typing import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)

# When each series began: as many lines again, of which nobody asks.
disable_created_metrics()


class Metrics:
    """
    What the server has done so far, in numbers. It may be told from any thread.

    # Parameters

    queue_length : `Callable[[], int]`
        Says how many questions wait for their answers.
    """

    def __init__(self, queue_length: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "bidaf_requests",
            "Requests by route and status.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self.request_seconds = Histogram(
            "bidaf_request_seconds",
            "From request to response.",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.batch_size = Histogram(
            "bidaf_batch_size",
            "Questions read together.",
            buckets=_BATCH_SIZES,
            registry=self._registry,
        )
        gauge = Gauge(
            "bidaf_queue_length", "Questions that wait for their answers.", registry=self._registry
        )
        gauge.set_function(queue_length)

    def to_text(self) -> str:
        """All of it in the text format of Prometheus."""
        return generate_latest(self._registry).decode("utf-8")
