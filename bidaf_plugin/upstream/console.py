"""
What AllenNLP's commands show: progress, answers, a summary, and what is wrong, in one sentence if it is the
input. All of AllenNLP's own messages are there with `ALLENNLP_LOG_LEVEL=INFO`, and in a run's out.log.
"""

import logging
import os
import sys
from functools import cache
from os import PathLike
from textwrap import shorten
from typing import Any, Dict, Optional, Union

from allennlp.commands import evaluate
from allennlp.common import file_utils
from allennlp.common import logging as allennlp_logging
from allennlp.common.util import dump_metrics

from bidaf_plugin.common.errors import DataError, install_error_messages

# How often a download is tried again: after 0 and 2 seconds.
_RETRIES = 2
# That of `dump_metrics`, with which `allennlp train` and `evaluate` end.
_SUMMARY = "Metrics: %s"


def _is_worth_showing(record: logging.LogRecord) -> bool:
    # The actions of `allennlp bidaf` have summaries of their own.
    is_summary = record.msg == _SUMMARY and sys.argv[1:2] != ["bidaf"]
    return record.levelno >= logging.WARNING or is_summary


def quiet_console() -> None:
    """
    Leaves warnings, errors and the final metrics on the console, unless a level is asked for: AllenNLP
    logs each parameter that it reads and each weight that it makes. Files get everything.
    """
    if os.environ.get("ALLENNLP_LOG_LEVEL") or os.environ.get("ALLENNLP_DEBUG"):
        return
    for handler in logging.getLogger().handlers:
        if type(handler) is logging.StreamHandler and _is_worth_showing not in handler.filters:
            handler.addFilter(_is_worth_showing)


def _is_command() -> bool:
    """Whether this is the `allennlp` command, and not somebody's program that imports the plugin."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return "allennlp.__main__" in sys.modules or getattr(spec, "name", "") == "allennlp.__main__"


def install() -> None:
    """
    Makes AllenNLP's commands quiet, and end with one sentence where the user's input is at fault.
    `allennlp train` sets handlers and an exception hook of its own when it starts to log, which writes
    the traceback into the log; ours goes before it.
    """
    install_summary_of_evaluate()
    install_downloads()
    install_error_messages()
    if _is_command():
        quiet_console()
    prepare_global_logging = allennlp_logging.prepare_global_logging

    def prepare(serialization_dir: Union[str, PathLike], *args: Any, **kwargs: Any) -> None:
        prepare_global_logging(serialization_dir, *args, **kwargs)
        install_error_messages()
        quiet_console()
        # A disk that is full gets its sentence, and not a traceback for every line of the log before it.
        logging.raiseExceptions = bool(os.environ.get("ALLENNLP_DEBUG"))

    allennlp_logging.prepare_global_logging = prepare


def install_summary_of_evaluate() -> None:
    """Makes `allennlp evaluate` end with the metrics, as `allennlp train` does, also without a file for them."""
    evaluate_from_archive = evaluate.evaluate_from_archive

    def evaluate_and_show(
        archive_file: Union[str, PathLike],
        input_file: str,
        metrics_output_file: Optional[str] = None,
        *args: Any,
        **kwargs: Any,
    ) -> Dict[str, Any]:
        metrics = evaluate_from_archive(
            archive_file, input_file, metrics_output_file, *args, **kwargs
        )
        if metrics_output_file is None:
            dump_metrics(None, metrics, log=True)
        return metrics

    evaluate.evaluate_from_archive = evaluate_and_show


def install_downloads() -> None:
    """
    Makes a download that fails give up after seconds, instead of most of a minute, and say what can be done
    about it.
    """
    package: Any = file_utils._cached_path
    cached_path = package.cached_path

    def download(url_or_filename: Union[str, PathLike], **kwargs: Any) -> Any:
        if "://" not in str(url_or_filename):
            return cached_path(url_or_filename, **kwargs)
        _shorten_retries()
        try:
            return cached_path(url_or_filename, **kwargs)
        except OSError as error:
            raise DataError(
                f"cannot download {url_or_filename} ({shorten(str(error), 100)}); if you have the file, "
                "give its path instead: as train_data, dev_data or glove in the config, or with --data of "
                "`allennlp bidaf reproduce`"
            ) from error

    package.cached_path = download


@cache
def _shorten_retries() -> None:
    # Not before something is downloaded: this imports half of what is installed.
    from cached_path.schemes import http

    session_with_backoff = http.session_with_backoff

    def make_session(*args: Any, **kwargs: Any) -> Any:
        session = session_with_backoff(*args, **kwargs)
        for adapter in session.adapters.values():
            adapter.max_retries = adapter.max_retries.new(total=_RETRIES)
        return session

    http.session_with_backoff = make_session
