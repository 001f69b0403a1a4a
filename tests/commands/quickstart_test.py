from bidaf_plugin.commands.quickstart import guess_by_shared_words


class TestGuessBySharedWords:
    def test_takes_a_name_from_the_sentence_nearest_to_the_question(self) -> None:
        passage = "Orrin was founded by Ada Venn. Orrin burned in 1871. Bela Torm leads Orrin."
        assert guess_by_shared_words("Who founded Orrin?", passage) == "Ada Venn"
        assert guess_by_shared_words("Orrin burned when?", passage) == "1871"

    def test_without_a_name_it_is_the_sentence(self) -> None:
        assert guess_by_shared_words("why?", "because it rained.") == "because it rained."
