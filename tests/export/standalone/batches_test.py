import random

from allennlp.data import Instance, Token
from allennlp.data.fields import TextField

from bidaf_plugin.data.samplers import BidafBucketSampler
from bidaf_plugin.export.standalone.batches import make_batch, plan_batches
from bidaf_plugin.export.standalone.exported_tokenizer import Tokens


def make_text(length: int) -> Tokens:
    return Tokens(["w"] * length, [], [])


class TestPlanBatches:
    def test_batches_are_those_of_the_predictor(self) -> None:
        draw = random.Random(0).randint
        texts = [make_text(draw(1, 700)) for _ in range(150)] + [make_text(9_000)]
        passages = [texts[draw(0, 150)] for _ in range(700)]
        # More questions on one passage than fit into a batch.
        passages += [make_text(3)] * 300
        questions = [make_text(draw(1, 40)) for _ in passages]
        field_of_passage = {
            id(text): TextField([Token("w")] * len(text.words)) for text in passages
        }
        instances = [
            Instance(
                {
                    "question": TextField([Token("w")] * len(question.words)),
                    "passage": field_of_passage[id(passage)],
                }
            )
            for question, passage in zip(questions, passages, strict=True)
        ]
        sampler = BidafBucketSampler(128, 8_000, group_passages=True, shuffle=False)
        assert plan_batches(questions, passages) == list(sampler.get_batch_indices(instances))
        assert plan_batches([], []) == []


class TestMakeBatch:
    def test_words_and_passages_are_in_it_once(self) -> None:
        first, second = Tokens(["a", "b", "a"], [], []), Tokens(["c"], [], [])
        questions = [Tokens(words, [], []) for words in (["b", "?"], ["c"], ["a"])]
        batch = make_batch(questions, [first, second, first])
        assert batch.words == ["b", "?", "c", "a"]
        assert batch.questions.tolist() == [[0, 1], [2, -1], [3, -1]]
        assert batch.passages.tolist() == [[3, 0, 3], [2, -1, -1]]
        assert batch.passage_of_question.tolist() == [0, 1, 0]
