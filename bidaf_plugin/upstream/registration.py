import logging
from typing import Any, Callable, Optional, Type, TypeVar

from allennlp.common import Registrable

T = TypeVar("T")


def register_instead(
    base: Type[Registrable], name: str, constructor: Optional[str] = None
) -> Callable[[Type[T]], Type[T]]:
    """
    Registers a class in place of AllenNLP's of the same name, without a line in the log about that
    whenever a command starts.
    """

    def register(subclass: Any) -> Any:
        logger = logging.getLogger(Registrable.__module__)
        was_disabled, logger.disabled = logger.disabled, True
        try:
            return base.register(name, constructor, exist_ok=True)(subclass)
        finally:
            logger.disabled = was_disabled

    return register
