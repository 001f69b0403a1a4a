from typing import Any, Dict

from bidaf_plugin.common.archives import rewrite_config
from bidaf_plugin.common.errors import DataError


def divide_logits(archive: str, new_archive: str, factor: float) -> float:
    """
    Writes an archive whose model divides its logits by `factor`, after what it did so far.

    # Returns

    `float`
        The temperature that is now in its config, at `model.output_layer.temperature`.
    """
    temperatures = []

    def change(config: Dict[str, Any]) -> None:
        output_layer = config.get("model", {}).get("output_layer")
        if not isinstance(output_layer, dict):
            raise DataError(f"{archive}: the config has no 'model.output_layer' to put a temperature in")
        output_layer["temperature"] = factor * output_layer.get("temperature", 1.0)
        temperatures.append(output_layer["temperature"])

    rewrite_config(archive, new_archive, change)
    return temperatures[0]
