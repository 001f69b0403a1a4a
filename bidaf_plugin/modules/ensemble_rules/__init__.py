from bidaf_plugin.modules.ensemble_rules.distinct_candidates import (
    distinct_candidates as distinct_candidates,
)
from bidaf_plugin.modules.ensemble_rules.ensemble_rule import Candidate as Candidate
from bidaf_plugin.modules.ensemble_rules.ensemble_rule import EnsembleRule as EnsembleRule
from bidaf_plugin.modules.ensemble_rules.mean_rule import MeanRule as MeanRule
from bidaf_plugin.modules.ensemble_rules.product_rule import ProductRule as ProductRule
from bidaf_plugin.modules.ensemble_rules.span_distribution import (
    SpanDistribution as SpanDistribution,
)
from bidaf_plugin.modules.ensemble_rules.spans_rule import SpansRule as SpansRule
from bidaf_plugin.modules.ensemble_rules.votes_rule import VotesRule as VotesRule
