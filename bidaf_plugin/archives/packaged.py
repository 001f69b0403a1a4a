from pathlib import Path

from bidaf_plugin.common.errors import DataError

PACKAGED = Path(__file__).parents[2] / "pretrained" / "bidaf-squad.tar.gz"


def packaged_archive() -> str:
    """The model that comes with the package, trained on SQuAD."""
    if not PACKAGED.is_file():
        raise DataError(
            "no archive is given and none comes with the package: `make train` makes a small one, "
            "runs/quickstart/model.tar.gz, and `make reproduce` the paper's"
        )
    return str(PACKAGED)
