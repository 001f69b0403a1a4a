"""
What keeps AllenNLP 2.10.1 in use on today's Python and torch, applied when the plugin is imported.
This is the whole list; a name with a folder is of another room, which a file of this one puts to use:

| what goes wrong without it | where it is put right |
|---|---|
| the moving average is lost after `--recover` | `moving_average.py` |
| dropout after `--recover` differs from an uninterrupted run | `random_state_callback.py` |
| data after `--recover` comes in another order | `careful_validation_trainer.py` |
| metrics of an epoch that was interrupted are too low | `epoch_so_far_callback.py` |
| `--recover` of a finished run drops metrics | `careful_validation_trainer.py` |
| a run killed between two files ends without its best weights | `careful_validation_trainer.py` |
| a run killed while it saves cannot be recovered | `checkpointer.py` |
| `--recover` fails if the newest checkpoint is damaged | `checkpointer.py` |
| a full disk leaves part of a model.tar.gz | `whole_archive.py` |
| a folder that cannot be written is found out late | `small_fixes.check_before_training` |
| distributed validation leaves out questions | `careful_validation_trainer.py` |
| training without any data ends with a model | `careful_validation_trainer.py` |
| misspelt keys of the trainer are passed over | `careful_validation_trainer.py` |
| `evaluate_on_test` breaks off distributed training at its end | `evaluate_on_test.py` |
| the scheduler `reduce_on_plateau` raises a TypeError | `reduce_on_plateau.py` |
| `--recover` fails on numpy numbers in a checkpoint | `small_fixes.allow_numpy_numbers` |
| warnings about calls that AllenNLP makes | `small_fixes.silence_known_warnings` |
| the tokenizers of transformers cannot be loaded | `small_fixes.load_tokenizers_of_transformers` |
| misspelt names are looked for with nltk, which is not installed | `small_fixes.suggest_names` |
| a traceback where the user's input is at fault | `small_fixes.show_errors_as_sentences` |
| tracebacks of workers of the data loader that are told to end | `small_fixes.let_workers_end` |
| an archive can write files anywhere, or take all memory | `archive_door.py`, `archives/load.py`, `common/tar_files.py` |
| an archive can run code, read files and call addresses | `archive_door.py`, `archives/config_check.py` |
| `simple-gradient` multiplies all gradients by the first word | `each_word_gradient.py` |
| `hotflip` knows only some of AllenNLP's token indexers | `any_indexer_hotflip.py` |
| `predict` does not name the bad line, and takes one question at a time | `predict_manager.py` |
"""

from bidaf_plugin.upstream.any_indexer_hotflip import AnyIndexerHotflip as AnyIndexerHotflip
from bidaf_plugin.upstream.archive_door import install_archive_door
from bidaf_plugin.upstream.careful_validation_trainer import (
    CarefulValidationTrainer as CarefulValidationTrainer,
)
from bidaf_plugin.upstream.checkpointer import AtomicCheckpointer as AtomicCheckpointer
from bidaf_plugin.upstream.each_word_gradient import EachWordGradient as EachWordGradient
from bidaf_plugin.upstream.epoch_so_far_callback import EpochSoFarCallback as EpochSoFarCallback
from bidaf_plugin.upstream.epoch_so_far_callback import install_epoch_so_far_callback
from bidaf_plugin.upstream.evaluate_on_test import install_final_evaluator
from bidaf_plugin.upstream.moving_average import (
    ResumableExponentialMovingAverage as ResumableExponentialMovingAverage,
)
from bidaf_plugin.upstream.predict_manager import install_predict_manager
from bidaf_plugin.upstream.random_state_callback import RandomStateCallback as RandomStateCallback
from bidaf_plugin.upstream.random_state_callback import install_random_state_callback
from bidaf_plugin.upstream.reduce_on_plateau import ReduceOnPlateau as ReduceOnPlateau
from bidaf_plugin.upstream.small_fixes import (
    allow_numpy_numbers,
    check_before_training,
    let_workers_end,
    load_tokenizers_of_transformers,
    show_errors_as_sentences,
    silence_known_warnings,
    suggest_names,
)
from bidaf_plugin.upstream.whole_archive import install_whole_archives


def apply_upstream_fixes() -> None:
    """Everything in the table above that is not a class registered by its own import."""
    allow_numpy_numbers()
    silence_known_warnings()
    suggest_names()
    load_tokenizers_of_transformers()
    show_errors_as_sentences()
    install_archive_door()
    install_predict_manager()
    install_random_state_callback()
    install_epoch_so_far_callback()
    install_final_evaluator()
    install_whole_archives()
    check_before_training()
    let_workers_end()
