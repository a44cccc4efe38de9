# SPDX-License-Identifier: Apache-2.0
#
# Guessed tokens through the programs: the demo model drafts for itself, and repeated text is looked up. The tokens equal
# those without guesses (in f32 arithmetic), on the CPU, on cards, for one request and for several.
import json
import tempfile
import threading
import unittest
from pathlib import Path

from daemon import TANDEM, Daemon, card_environment, run, run_json

DEMO = Path(TANDEM).parent.parent / "share/tandem/models/tandem-stories-q8_0.gguf"
STORY = "Tom had a red ball. He took the red ball to the park. Tom lost the red ball. Then Tom saw the red"
PLAIN = ["--prompt", STORY, "--max-tokens", 60, "--temperature", 0, "--ignore-eos", "--quantize", "f32"]


def answer(*arguments, **options):
    return run_json("generate", *PLAIN, *arguments, **options)


class DraftsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plain = answer()

    def test_a_model_that_drafts_takes_fewer_steps_for_the_same_tokens(self):
        guessing = answer("--draft", DEMO)
        self.assertEqual(guessing["output_ids"], self.plain["output_ids"])
        self.assertGreater(guessing["accepted_draft_tokens"], 0)  # how many pay is a matter of time
        self.assertLess(guessing["steps"], self.plain["steps"])
        self.assertEqual(self.plain["draft_tokens"], 0)

    def test_repeated_text_is_looked_up(self):
        guessing = answer("--draft", "lookup", "--draft-tokens", 4)
        self.assertEqual(guessing["output_ids"], self.plain["output_ids"])
        self.assertGreater(guessing["draft_tokens"], 0)

    def test_cards_check_guesses(self):
        guessing = answer("--draft", DEMO, "--attention", "xrt:0,xrt:1", "--placement", "interleave",
                          environment=card_environment())
        self.assertEqual(guessing["output_ids"], self.plain["output_ids"])
        self.assertGreater(guessing["accepted_draft_tokens"], 0)  # how many pay is a matter of time

    def test_a_served_load_gets_the_tokens_and_the_counts(self):
        fields = {"max_tokens": 40, "temperature": 0, "ignore_eos": True}
        prompts = [STORY[: 20 + 9 * i] for i in range(8)]
        with Daemon("--quantize", "f32") as daemon:
            expected = [daemon.complete(prompt, **fields)["choices"][0]["text"] for prompt in prompts]
        texts = [None] * len(prompts)
        with Daemon("--quantize", "f32", "--draft", str(DEMO)) as daemon:
            def ask(index):
                texts[index] = daemon.complete(prompts[index], **fields)["choices"][0]["text"]

            threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(prompts))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(texts, expected)
            texts[0] = None
            ask(0)
            self.assertEqual(texts, expected)
            status = daemon.status()
            metrics = daemon.request("GET", "/metrics")[2]
        self.assertGreater(status["accepted_draft_tokens"], 0)
        self.assertLessEqual(status["accepted_draft_tokens"], status["draft_tokens"])
        self.assertIn(f'tandem_draft_tokens_total{{kind="drafted"}} {status["draft_tokens"]}', metrics)

    def refusal(self, *arguments):
        process = run("generate", *PLAIN, *arguments)
        self.assertNotEqual(process.returncode, 0)
        return process.stderr

    def test_what_cannot_draft_is_named(self):
        self.assertIn("/nonexistent.gguf", self.refusal("--draft", "/nonexistent.gguf"))
        self.assertIn("--draft-tokens", self.refusal("--draft", "lookup", "--draft-tokens", 0))
        with tempfile.TemporaryDirectory() as directory:
            cut = Path(directory) / "cut.gguf"
            cut.write_bytes(DEMO.read_bytes()[:100000])
            self.assertIn("cut.gguf", self.refusal("--draft", cut))


if __name__ == "__main__":
    unittest.main()
