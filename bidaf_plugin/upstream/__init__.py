"""
What keeps AllenNLP 2.10.1 in use on today's Python and torch, applied when the plugin is imported.
This is the whole list; a name with a folder is of another room, which a file of this one puts to use:

| what goes wrong without it | where it is put right |
|---|---|
| the moving average is lost after `--recover` | `optimization.py` |
| dropout after `--recover` differs from an uninterrupted run | `callbacks.py` |
| data after `--recover` comes in another order | `trainer.py` |
| metrics of an epoch that was interrupted are too low | `callbacks.py` |
| `--recover` of a finished run drops metrics | `trainer.py` |
| a run killed between two files ends without its best weights | `trainer.py` |
| a run killed while it saves cannot be recovered | `checkpointer.py` |
| `--recover` fails if the newest checkpoint is damaged | `checkpointer.py` |
| a full disk leaves part of a model.tar.gz | `archives.py` |
| a folder that cannot be written is found out late | `small_fixes.check_before_training` |
| distributed validation leaves out questions | `trainer.py` |
| training without any data ends with a model | `trainer.py` |
| misspelt keys of the trainer are passed over | `trainer.py` |
| `evaluate_on_test` breaks off distributed training at its end | `trainer.py` |
| the scheduler `reduce_on_plateau` raises a TypeError | `optimization.py` |
| `--recover` fails on numpy numbers in a checkpoint | `small_fixes.allow_numpy_numbers` |
| configs that come with the package are found in its repository alone | `small_fixes.find_packaged_configs` |
| warnings about calls that AllenNLP makes | `small_fixes.silence_known_warnings` |
| the tokenizers of transformers cannot be loaded | `small_fixes.load_tokenizers_of_transformers` |
| misspelt names are looked for with nltk, which is not installed | `small_fixes.suggest_names` |
| 150 lines about parameters and weights on the console | `console.install_console` |
| `evaluate` does not show what it has measured | `console.install_summary_of_evaluate` |
| a download that fails takes 38 seconds, and does not say what to do | `console.install_downloads` |
| a traceback where the user's input is at fault | `console.install_console` |
| tracebacks of workers of the data loader that are told to end | `small_fixes.let_workers_end` |
| an archive can write files anywhere, or take all memory | `archives.py`, `archives/load.py`, `common/tar_files.py` |
| an archive can run code, read files and call addresses | `archives.py`, `archives/config_check.py` |
| `simple-gradient` multiplies all gradients by the first word | `interpret.py` |
| `hotflip` knows only some of AllenNLP's token indexers | `interpret.py` |
| `push-to-hf` calls what the library of the Hub does not have any more | `push_to_hf.py` |
| `predict` does not name the bad line, and takes one question at a time | `predict_manager.py` |
"""

from functools import cache

from bidaf_plugin.upstream.archives import install_archive_door, install_whole_archives
from bidaf_plugin.upstream.callbacks import EpochSoFarCallback as EpochSoFarCallback
from bidaf_plugin.upstream.callbacks import RandomStateCallback as RandomStateCallback
from bidaf_plugin.upstream.callbacks import install_callbacks
from bidaf_plugin.upstream.checkpointer import AtomicCheckpointer as AtomicCheckpointer
from bidaf_plugin.upstream.console import (
    install_console,
    install_downloads,
    install_summary_of_evaluate,
)
from bidaf_plugin.upstream.interpret import AnyIndexerHotflip as AnyIndexerHotflip
from bidaf_plugin.upstream.interpret import EachWordGradient as EachWordGradient
from bidaf_plugin.upstream.optimization import ReduceOnPlateau as ReduceOnPlateau
from bidaf_plugin.upstream.optimization import (
    ResumableExponentialMovingAverage as ResumableExponentialMovingAverage,
)
from bidaf_plugin.upstream.predict_manager import install_predict_manager
from bidaf_plugin.upstream.push_to_hf import install_push_to_hf
from bidaf_plugin.upstream.small_fixes import (
    allow_numpy_numbers,
    check_before_training,
    find_packaged_configs,
    let_workers_end,
    load_tokenizers_of_transformers,
    silence_known_warnings,
    suggest_names,
)
from bidaf_plugin.upstream.trainer import CarefulValidationTrainer as CarefulValidationTrainer
from bidaf_plugin.upstream.trainer import install_final_evaluator


@cache
def apply_upstream_fixes() -> None:
    """Everything in the table above that is not a class registered by its own import; once."""
    install_console()
    install_downloads()
    install_summary_of_evaluate()
    allow_numpy_numbers()
    silence_known_warnings()
    suggest_names()
    load_tokenizers_of_transformers()
    install_archive_door()
    install_predict_manager()
    install_push_to_hf()
    install_callbacks()
    install_final_evaluator()
    install_whole_archives()
    check_before_training()
    find_packaged_configs()
    let_workers_end()
