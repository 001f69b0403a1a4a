from bidaf_plugin.training.metrics.accuracies import ClozeAccuracy as ClozeAccuracy
from bidaf_plugin.training.metrics.accuracies import SpanAccuracy as SpanAccuracy
from bidaf_plugin.training.metrics.mean_over_workers import MeanOverWorkers as MeanOverWorkers
from bidaf_plugin.training.metrics.squad2_em_and_f1 import Squad2EmAndF1 as Squad2EmAndF1
from bidaf_plugin.training.metrics.squad_em_and_f1 import SquadEmAndF1 as SquadEmAndF1
