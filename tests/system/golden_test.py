# SPDX-License-Identifier: Apache-2.0
#
# Tokens and perplexity of small models against golden values.
import json
import math
import unittest

from daemon import MODELS, card_environment, run_json


@unittest.skipUnless(MODELS.exists(), "the models with golden values are not here")
class GoldenTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.golden = json.loads((MODELS / "golden.json").read_text())["models"]

    def test_float_models_give_the_golden_tokens_on_cpu_and_cards(self):
        for name in ("stories260K-f32", "stories260K-f16"):
            for case in self.golden[name]["prompts"]:
                for attention in ("cpu", "opencl", "xrt:0,xrt:1"):
                    answer = run_json("generate", "--model", MODELS / f"{name}.gguf", "--prompt", case["prompt"],
                                      "--max-tokens", len(case["out_ids"]), "--ignore-eos", "--attention", attention,
                                      environment=card_environment())
                    self.assertEqual(answer["prompt_ids"], case["prompt_ids"])
                    self.assertEqual(answer["output_ids"], case["out_ids"], f"{name} on {attention}")

    def test_perplexity_is_that_of_the_float64_reference(self):
        for name, golden in self.golden.items():
            result = run_json("perplexity", "--model", MODELS / f"{name}.gguf", "--file", MODELS / "ppl.txt",
                              "--attention", "cpu")
            self.assertEqual(result["ids"][: len(golden["ppl"]["ids"])], golden["ppl"]["ids"])
            scored = result["nll"][: golden["ppl"]["n_scored"]]
            ppl = math.exp(sum(scored) / len(scored))
            reference = golden["ref64"]["ppl"]
            self.assertLess(abs(ppl / reference - 1), 0.005, f"{name}: {ppl} against {reference}")


if __name__ == "__main__":
    unittest.main()
