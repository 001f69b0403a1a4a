from bidaf_plugin.data.samplers.batches_by_length import batches_by_length as batches_by_length
from bidaf_plugin.data.samplers.bidaf_bucket_sampler import BidafBucketSampler as BidafBucketSampler
from bidaf_plugin.data.samplers.window_budget_sampler import (
    WindowBudgetSampler as WindowBudgetSampler,
)
