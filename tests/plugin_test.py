from typing import Dict, Set, Type

from allennlp.common import Registrable
from allennlp.common.plugins import discover_file_plugins
from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder, TokenEmbedder
from allennlp.predictors import Predictor
from allennlp.training.metrics import Metric

import bidaf_plugin  # noqa: F401
from tests.helpers import ROOT

# What allennlp-models 2.10.1 registers. AllenNLP imports it by itself where it is installed, and a
# name that is registered twice stops AllenNLP.
ALLENNLP_MODELS: Dict[Type[Registrable], str] = {
    DatasetReader: """boolq ccgbank cnn_dm commonsenseqa conll2000 copynet_seq2seq coref drop fake
        flickr30k gqa masked_language_modeling next_token_lm nlvr2 ontonotes_ner piqa piqa_tt preco
        ptb_trees qangaroo quac quora_paraphrase semantic_dependencies seq2seq
        simple_language_modeling snli squad squad1 squad2 srl sst_tokens superglue_record swag
        transformer_squad transformer_superglue_rte triviaqa universal_dependencies vgqa
        visual-entailment vqav2 winobias""",
    Model: """bart bcn biaffine_parser bidaf bidaf-ensemble bidirectional-language-model bimpm
        composed_seq2seq constituency_parser copynet_seq2seq coref crf_tagger decomposable_attention
        dialog_qa esim graph_parser language_model masked_language_model naqanet next_token_lm nlvr2
        qanet rc-qanet simple_seq2seq sp-graph-parser srl srl_bert t5 transformer_mc transformer_qa
        ve_vilbert vilbert_ir vision_model vqa_vilbert""",
    Predictor: """biaffine_dependency_parser constituency_parser coreference_resolution dialog_qa
        masked_language_model next_token_lm nlvr2 open_information_extraction reading_comprehension
        semantic_role_labeling seq2seq textual_entailment transformer_mc transformer_qa vilbert_ve
        vilbert_vqa""",
    Metric: "conll_coref_scores drop mention_recall squad srl_eval vqa",
    Seq2SeqEncoder: """bart_encoder bidirectional_language_model_transformer
        multi_head_self_attention qanet_encoder qanet_encoder_block stacked_self_attention""",
    TokenEmbedder: "bidirectional_lm_token_embedder language_model_token_embedder",
}


def our_names(base: Type[Registrable]) -> Set[str]:
    return {
        name
        for name, (subclass, _) in Registrable._registry[base].items()
        if subclass.__module__.startswith("bidaf_plugin")
    }


class TestPlugin:
    def test_the_plugins_file_names_the_package(self) -> None:
        assert list(discover_file_plugins(str(ROOT / ".allennlp_plugins"))) == ["bidaf_plugin"]

    def test_no_name_clashes_with_allennlp_models(self) -> None:
        for base, names in ALLENNLP_MODELS.items():
            assert our_names(base)
            assert not our_names(base) & set(names.split())

    def test_importing_the_package_registers_everything(self) -> None:
        # The plugins file imports the package alone, not its submodules.
        import sys

        paths = list((ROOT / "bidaf_plugin").rglob("*.py"))
        registering = [path for path in paths if ".register(" in path.read_text(encoding="utf-8")]
        assert len(registering) > 30
        for path in registering:
            parts = path.relative_to(ROOT).with_suffix("").parts
            module = ".".join(part for part in parts if part != "__init__")
            assert module in sys.modules, f"{module} is not imported by bidaf_plugin/__init__.py"
