import sys
from importlib.metadata import packages_distributions
from typing import Iterator

import pytest

import torchvision_stand_in


@pytest.mark.skipif(
    "torchvision" in packages_distributions(), reason="a real torchvision is installed"
)
class TestTorchvisionStandIn:
    @pytest.fixture(autouse=True)
    def without_torchvision(self) -> Iterator[None]:
        kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "torchvision"}
        yield
        sys.modules.update(kept)

    def test_others_still_learn_that_torchvision_is_missing(self) -> None:
        with pytest.raises(ModuleNotFoundError):
            import torchvision  # noqa: F401

    def test_allennlp_gets_a_module_of_which_only_the_name_can_be_used(self) -> None:
        namespace = {"__name__": "allennlp.data.image_loader"}
        exec("import torchvision; import torchvision.ops.boxes", namespace)
        with pytest.raises(ImportError, match="needs the real torchvision"):
            namespace["torchvision"].io.read_image("x.png")  # type: ignore[attr-defined]
        for name in list(sys.modules):
            if name.startswith("torchvision."):
                del sys.modules[name]

    def test_is_installed_once(self) -> None:
        torchvision_stand_in.install()
        torchvision_stand_in.install()
        finders = [f for f in sys.meta_path if type(f).__name__ == "_StandInFinder"]
        assert len(finders) == 1
