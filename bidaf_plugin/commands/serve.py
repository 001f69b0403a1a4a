import argparse
from contextlib import ExitStack

from overrides import overrides

from bidaf_plugin.commands.action import Action, add_model_options
from bidaf_plugin.common.errors import DataError


@Action.register("serve")
class Serve(Action):
    """
    Answer questions in the browser and over HTTP.

    Each ARCHIVE is a model.tar.gz, the folder of a training run or a URL; the first is the default on
    the page. Without one, the model that comes with the package is served. /docs describes the API.
    Questions that come at the same time are answered together. SIGTERM or Ctrl+C ends it, after
    everything that was taken in is answered. A line of JSON is written for every request, to the
    standard error stream or to --log-file.

    Example: allennlp bidaf serve runs/squad
             allennlp bidaf serve runs/study/bidaf runs/study/alpha_dot --port 8080
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", nargs="*", help="the models")
        parser.add_argument(
            "--host", default="127.0.0.1", help="the address to serve at; 0.0.0.0 for all networks"
        )
        parser.add_argument("--port", type=int, default=8000, help="0 for any")
        parser.add_argument(
            "--max-queue",
            metavar="N",
            type=int,
            default=256,
            help="refuse questions when so many wait for their answers",
        )
        parser.add_argument(
            "--timeout",
            metavar="SECONDS",
            type=float,
            default=30.0,
            help="after which a request gets an error in place of its answer",
        )
        parser.add_argument(
            "--max-batch-wait",
            metavar="MILLISECONDS",
            type=float,
            default=50.0,
            help="how long to wait for more questions when there are several users",
        )
        parser.add_argument("--log-file", metavar="FILE", help="append the access log to it")
        parser.add_argument(
            "--engine",
            choices=["auto", "torch", "onnx"],
            default="auto",
            help="what runs the network: onnx needs onnxruntime; auto is what answers a question faster",
        )
        add_model_options(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        _check(args)
        from bidaf_plugin.server.models import load_models
        from bidaf_plugin.server.run import address_of, make_server, open_socket
        from bidaf_plugin.server.service import Service

        with ExitStack() as stack:
            # Before the models are loaded, which takes a while.
            opened = stack.enter_context(open_socket(args.host, args.port))
            log_stream = None
            if args.log_file is not None:
                log_stream = stack.enter_context(open(args.log_file, "a", encoding="utf-8"))
            models = load_models(args.archive, args.cuda_device, args.engine)
            # From here on connections wait until they are taken in, instead of being refused.
            opened.listen()
            names = ", ".join(model.name for model in models)
            print(f"Serving {names} at {address_of(args.host, opened)} (Ctrl+C stops)", flush=True)
            service = Service(models, args.max_queue, args.timeout, args.max_batch_wait / 1000)
            make_server(service, args.host, log_stream).run(sockets=[opened])


def _check(args: argparse.Namespace) -> None:
    if not 0 <= args.port <= 65_535:
        raise DataError(f"--port must be between 0 and 65535, found {args.port}")
    if args.max_queue < 1:
        raise DataError(f"--max-queue must be at least 1, found {args.max_queue}")
    if not args.timeout > 0:
        raise DataError(f"--timeout must be more than 0 seconds, found {args.timeout:g}")
    if not args.max_batch_wait >= 0:
        raise DataError(f"--max-batch-wait must not be negative, found {args.max_batch_wait:g}")
