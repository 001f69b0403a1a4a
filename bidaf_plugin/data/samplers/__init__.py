from bidaf_plugin.data.samplers.bidaf_bucket_sampler import BidafBucketSampler as BidafBucketSampler
from bidaf_plugin.data.samplers.window_budget_sampler import (
    WindowBudgetSampler as WindowBudgetSampler,
)
from bidaf_plugin.runtime.batches_by_length import batches_by_length as batches_by_length
