import pytest

from benchmarks.systems import OURS, PEER, PEER_FOLDER, Settings, environment, load_config

SETTINGS = Settings("work", "train.json", "dev.json", "glove.txt", tiny=False, num_threads=2)


class TestSystems:
    def test_only_the_peer_finds_allennlp_models(self) -> None:
        assert str(PEER_FOLDER) not in environment(OURS, SETTINGS)["PYTHONPATH"]
        assert str(PEER_FOLDER) in environment(PEER, SETTINGS)["PYTHONPATH"]

    @pytest.mark.parametrize("tiny", [False, True])
    def test_both_have_layers_of_the_same_sizes(self, tiny: bool) -> None:
        settings = SETTINGS._replace(tiny=tiny)
        ours, peer = (load_config(system, settings)["model"] for system in (OURS, PEER))
        layers = {
            "contextual_layer": "phrase_layer",
            "modeling_layer": "modeling_layer",
        }
        pairs = [(ours[own], peer[other]) for own, other in layers.items()]
        pairs.append((ours["output_layer"]["end_encoder"], peer["span_end_encoder"]))
        for own_layer, peer_layer in pairs:
            for size in ("input_size", "hidden_size", "num_layers"):
                assert own_layer[size] == peer_layer[size]
        assert ours["dropout"] == peer["dropout"]
