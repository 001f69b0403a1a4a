// The ensemble of "Bi-Directional Attention Flow for Machine Comprehension" (Seo et al., ICLR 2017): 12
// runs of bidaf_squad.jsonnet that differ in their seeds, which `make ensemble` trains.
//
//     allennlp train training_configs/bidaf_squad_ensemble.jsonnet -s runs/squad_ensemble
//
// learns nothing, but puts the members into one archive, which `allennlp predict` and `allennlp evaluate`
// take like any other.
local single = import 'bidaf_squad.jsonnet';
{
  members:: ['runs/ensemble/run_%d/model.tar.gz' % number for number in std.range(1, 12)],
  rule:: 'votes',  // or 'spans', 'mean', 'product'

  dataset_reader: single.validation_dataset_reader,
  train_data_path: single.validation_data_path,  // not read
  vocabulary: { type: 'empty' },  // each member has its own
  model: { type: 'attention_flow_ensemble', members: $.members, rule: $.rule },
  data_loader: { batch_size: 1, max_instances_in_memory: 1 },
  validation_data_loader: single.validation_data_loader,
  trainer: { type: 'no_op' },
  evaluation: single.evaluation,
  include_in_archive: ['members'],
}
