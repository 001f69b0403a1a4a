from benchmarks.findings import RATIOS, Findings
from benchmarks.report import format_table


class TestFindings:
    def test_ratios_say_how_many_times_better_ours_is(self) -> None:
        findings = Findings()
        findings.add("train", "training", "examples/s", {"ours": [60, 20, 40], "peer": [10, 10]})
        findings.add(
            "memory_step", "memory", "MiB", {"ours": [50], "peer": [150]}, more_is_better=False
        )
        findings.add("predict", "prediction", "questions/s", {"ours": [7.0]})
        findings.add("help", "start-up", "s", {"ours": [9], "peer": [9]}, more_is_better=False)
        result = findings.as_dict()
        assert result["ratios"] == {
            **dict.fromkeys(RATIOS),
            "train": 40 / 10,
            "memory_step": 150 / 50,
        }
        assert result["measurements"]["train"]["ours"] == {
            "median": 40,
            "repetitions": 3,
            "values": [60, 20, 40],
        }
        table = format_table(findings)
        assert "| training, examples/s | 40 | 10 | 4.00 | 3 / 2 |" in table
        assert "| prediction, questions/s | 7 |  |  | 1 |" in table
