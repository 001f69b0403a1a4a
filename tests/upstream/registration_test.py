import logging

import pytest
from allennlp.common import Registrable

from bidaf_plugin.upstream.registration import register_instead


class Animal(Registrable):
    pass


@Animal.register("cat")
class Cat(Animal):
    pass


def test_takes_the_place_of_another_without_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):

        @register_instead(Animal, "cat")
        class Tiger(Animal):
            pass

        assert not caplog.records
        # AllenNLP's own way.
        Animal.register("cat", exist_ok=True)(Cat)
        assert len(caplog.records) == 1
        register_instead(Animal, "cat")(Tiger)
    assert Animal.by_name("cat") is Tiger
