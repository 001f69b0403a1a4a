from bidaf_plugin.training.careful_validation_trainer import (
    CarefulValidationTrainer as CarefulValidationTrainer,
)
from bidaf_plugin.training.checkpointer import AtomicCheckpointer as AtomicCheckpointer
from bidaf_plugin.training.epoch_so_far_callback import EpochSoFarCallback as EpochSoFarCallback
from bidaf_plugin.training.moving_average import (
    ResumableExponentialMovingAverage as ResumableExponentialMovingAverage,
)
from bidaf_plugin.training.random_state_callback import RandomStateCallback as RandomStateCallback
from bidaf_plugin.training.reduce_on_plateau import ReduceOnPlateau as ReduceOnPlateau
