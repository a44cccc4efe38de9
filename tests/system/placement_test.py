# SPDX-License-Identifier: Apache-2.0
#
# A prompt gives the same tokens on every attention device, alone and among 16 requests. The test uses f32 arithmetic: if
# activations are rounded to int8, a difference in the last bit of an attention result can lead to another token.
import concurrent.futures
import unittest

from daemon import Daemon, card_environment, run_json

PROMPTS = [
    "Once upon a time",
    "Tom and Lily went to the park to play with a big red ball.",
    "The little dog was sad because",
    "One day, a girl found a",
]
TOKENS = 40
EXACT = ["--quantize", "f32"]
# Without shares a card that was slow when it was measured may get no sequence.
EVEN_CARDS = "xrt:0=0.5,xrt:1=0.5"
SPLIT = ["--attention", "cpu,xrt:0,xrt:1", "--placement", "interleave"]


def generate(prompt, *arguments):
    answer = run_json("generate", "--prompt", prompt, "--max-tokens", TOKENS, "--temperature", 0, "--ignore-eos",
                      *EXACT, *arguments, environment=card_environment())
    return answer


def ask(daemon, prompt):
    """Text and tokens of one completion."""
    body = daemon.complete(prompt, max_tokens=TOKENS, temperature=0, ignore_eos=True, logprobs=1)
    choice = body["choices"][0]
    assert choice["finish_reason"] == "length", choice
    return choice["text"], choice["logprobs"]["tokens"]


class PlacementTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected = {prompt: generate(prompt, "--attention", "cpu")["output_ids"] for prompt in PROMPTS}
        # 16 prompts of 1 to 300 tokens, some with a common beginning, answered one after the other on the CPU.
        story = " ".join(PROMPTS * 8).split()
        prompts = [" ".join(story[i % 3 : i % 3 + 1 + 13 * i]) for i in range(16)]
        with Daemon(*EXACT, "--attention", "cpu", "--no-prefix-cache") as daemon:
            cls.sixteen = {prompt: ask(daemon, prompt) for prompt in prompts}

    def check_alone(self, *arguments):
        for prompt in PROMPTS:
            answer = generate(prompt, *arguments)
            self.assertEqual(answer["output_ids"], self.expected[prompt])
            self.assertEqual(len(answer["output_ids"]), TOKENS)
            for device in answer["devices"]:
                self.assertGreater(device["launches"], 0, f"{device['device']} did nothing")

    def test_opencl_gives_the_tokens_of_the_cpu(self):
        self.check_alone("--attention", "opencl")

    def test_one_card_gives_the_tokens_of_the_cpu(self):
        self.check_alone("--attention", "xrt:0")

    def test_pages_split_over_two_cards_give_the_tokens_of_the_cpu(self):
        self.check_alone("--attention", "xrt:0,xrt:1", "--placement", "interleave")

    def test_pages_split_over_cpu_and_two_cards_give_the_tokens_of_the_cpu(self):
        self.check_alone(*SPLIT)

    def check_sixteen(self, *arguments):
        with Daemon(*EXACT, *arguments, cards=2) as daemon, concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda prompt: ask(daemon, prompt), self.sixteen))
            # Prompts of one request run at the same time, so they take all devices. Requests may come one after the other.
            together = daemon.complete(list(self.sixteen), max_tokens=TOKENS, temperature=0, ignore_eos=True)["choices"]
            devices = [d for d in daemon.status()["devices"] if d["role"] == "attention"]
        for prompt, answer in zip(self.sixteen, answers):
            self.assertEqual(answer, self.sixteen[prompt], prompt)
        self.assertEqual([choice["text"] for choice in together], [text for text, _ in self.sixteen.values()])
        for device in devices:
            self.assertGreater(device["launches"], 0, f"{device['device']} did nothing")

    def test_sixteen_requests_on_the_cpu(self):
        self.check_sixteen("--attention", "cpu")

    def test_sixteen_requests_on_opencl(self):
        self.check_sixteen("--attention", "opencl")

    def test_sixteen_requests_on_one_card(self):
        self.check_sixteen("--attention", "xrt:0")

    def test_sixteen_requests_on_two_cards(self):
        self.check_sixteen("--attention", EVEN_CARDS)

    def test_sixteen_requests_on_two_cards_in_two_sub_batches(self):
        self.check_sixteen("--attention", EVEN_CARDS, "--sub-batches", "2")

    def test_sixteen_requests_split_by_pages_over_everything(self):
        self.check_sixteen(*SPLIT)

    def test_an_int8_cache_gives_equal_tokens_on_cpu_and_cards(self):
        for prompt in PROMPTS:
            on_cpu = generate(prompt, "--attention", "cpu", "--kv-dtype", "i8")["output_ids"]
            on_cards = generate(prompt, "--attention", "xrt:0,xrt:1", "--kv-dtype", "i8")["output_ids"]
            self.assertEqual(on_cpu, on_cards)


if __name__ == "__main__":
    unittest.main()
