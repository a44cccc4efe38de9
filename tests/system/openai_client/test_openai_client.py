# SPDX-License-Identifier: Apache-2.0
#
# The API as an independent client sees it: the `openai` package for Python.
#
#   test_openai_client.py                        starts a daemon of its own (TANDEM_BINARY_DIR names the build)
#   test_openai_client.py --base-url http://127.0.0.1:8080 [--api-key KEY] [--model NAME]
#
# No expectation depends on the model's text: it comes from other answers of the same server.
import argparse
import contextlib
import re
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from waiting import wait_for  # noqa: E402

try:
    import openai
except ImportError:
    sys.exit("this test needs the packages of tests/requirements.txt; scripts/test.sh installs them into build/venv")

STORY = "Once upon a time"
CHAT = [{"role": "user", "content": "Tell me a story."}]

server = argparse.Namespace(base_url=None, api_key=None, model=None)


def client(**options):
    settings = {"base_url": server.base_url + "/v1", "api_key": server.api_key or "none", "max_retries": 0, "timeout": 120}
    return openai.OpenAI(**{**settings, **options})


def metric(pattern):
    """The first value in /metrics whose line matches, or None."""
    headers = {"Authorization": f"Bearer {server.api_key}"} if server.api_key else {}
    with urllib.request.urlopen(urllib.request.Request(server.base_url + "/metrics", headers=headers)) as answer:
        text = answer.read().decode()
    found = re.search(r"^" + pattern + r" (\d+(?:\.\d+)?)", text, re.MULTILINE)
    return float(found.group(1)) if found else None


class ApiTest(unittest.TestCase):
    def setUp(self):
        self.client = client()
        self.addCleanup(self.client.close)

    def chat(self, **fields):
        return self.client.chat.completions.create(
            **{"model": server.model, "messages": CHAT, "temperature": 0, "max_tokens": 24, **fields})

    def complete(self, **fields):
        return self.client.completions.create(
            **{"model": server.model, "prompt": STORY, "temperature": 0, "max_tokens": 24, **fields})


class ModelsTest(ApiTest):
    def test_lists_one_model(self):
        models = self.client.models.list().data
        self.assertEqual([model.id for model in models], [server.model])
        self.assertEqual(self.client.models.retrieve(server.model).object, "model")


class AnswerTest(ApiTest):
    def test_chat(self):
        answer = self.chat()
        self.assertEqual(answer.object, "chat.completion")
        self.assertEqual(answer.model, server.model)
        self.assertTrue(answer.id.startswith("chatcmpl-"))
        choice = answer.choices[0]
        self.assertEqual(choice.message.role, "assistant")
        self.assertTrue(choice.message.content)
        self.assertIn(choice.finish_reason, ("stop", "length"))
        self.assertEqual(self.chat().choices[0].message.content, choice.message.content)

    def test_chat_takes_text_parts_and_its_own_answers_back(self):
        first = self.chat()
        messages = [{"role": "system", "content": "You tell stories."},
                    {"role": "user", "content": [{"type": "text", "text": "Tell "}, {"type": "text", "text": "me."}]},
                    first.choices[0].message, {"role": "user", "content": "And then?"}]
        self.assertTrue(self.chat(messages=messages).choices[0].message.content)

    def test_completion(self):
        answer = self.complete(max_tokens=5, extra_body={"ignore_eos": True})
        self.assertEqual(answer.object, "text_completion")
        self.assertEqual(answer.choices[0].finish_reason, "length")
        self.assertEqual(answer.usage.completion_tokens, 5)

    def test_a_prompt_of_tokens_and_many_prompts(self):
        answer = self.complete(prompt=["One day", "The cat"], echo=True)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1])
        self.assertTrue(answer.choices[0].text.startswith("One day"))
        self.assertTrue(answer.choices[1].text.startswith("The cat"))
        tokens = self.complete(prompt=[65, 66], max_tokens=1)
        self.assertEqual(tokens.usage.prompt_tokens, 2)

    def test_usage_adds_up(self):
        usage = self.chat(n=2, max_tokens=6).usage
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        self.assertLessEqual(usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens)
        self.assertGreater(usage.completion_tokens, 0)

    def test_stop_texts_end_the_answer_where_they_begin(self):
        text = self.complete(max_tokens=24).choices[0].text
        stop = text[len(text) // 2]
        answer = self.complete(max_tokens=24, stop=[stop, "\u0000never"]).choices[0]
        self.assertEqual(answer.text, text[: text.index(stop)])
        self.assertEqual(answer.finish_reason, "stop")

    def test_a_seed_repeats_and_another_differs(self):
        def drawn(**fields):
            return self.complete(temperature=1.5, max_tokens=24, extra_body={"ignore_eos": True}, **fields)

        self.assertEqual(drawn(seed=7).choices[0].text, drawn(seed=7).choices[0].text)
        self.assertGreater(len({drawn(seed=seed).choices[0].text for seed in range(6)}), 1)

    def test_choices_of_one_request_differ_and_count_up_from_the_seed(self):
        many = self.chat(n=3, temperature=1.5, seed=3, max_tokens=24)
        self.assertEqual([choice.index for choice in many.choices], [0, 1, 2])
        texts = [choice.message.content for choice in many.choices]
        self.assertGreater(len(set(texts)), 1)
        second = self.chat(temperature=1.5, seed=4, max_tokens=24)
        self.assertEqual(second.choices[0].message.content, texts[1])

    def test_a_bias_of_minus_100_bans_a_token(self):
        first = self.chat(max_tokens=1, logprobs=True).choices[0].logprobs.content[0]
        token = self.token_of(first.token)
        if token is None:
            self.skipTest("no way to learn the id of the first token")
        banned = self.chat(max_tokens=1, logprobs=True, logit_bias={str(token): -100})
        self.assertNotEqual(banned.choices[0].logprobs.content[0].token, first.token)

    def token_of(self, text):
        """The id of a token of this text: the prompt [id] echoed says what each id stands for."""
        for start in range(0, 4096, 64):
            try:
                answer = self.complete(prompt=[[token] for token in range(start, start + 64)], echo=True, max_tokens=0,
                                       logprobs=0)
            except openai.BadRequestError:
                return None
            for choice in answer.choices:
                if choice.logprobs.tokens[0] == text:
                    return start + choice.index
        return None


class LogprobsTest(ApiTest):
    def test_chat(self):
        choice = self.chat(logprobs=True, top_logprobs=3, max_tokens=6).choices[0]
        content = choice.logprobs.content
        self.assertGreaterEqual(len(content), 1)
        self.assertEqual(b"".join(bytes(token.bytes) for token in content).decode(errors="replace").strip(),
                         choice.message.content.strip())
        for token in content:
            self.assertEqual(len(token.top_logprobs), 3)
            self.assertLessEqual(token.logprob, 0)
            best = token.top_logprobs[0]
            self.assertAlmostEqual(token.logprob, best.logprob, 4)  # greedy
            self.assertGreaterEqual(best.logprob, token.top_logprobs[1].logprob)

    def test_completion(self):
        choice = self.complete(logprobs=2, max_tokens=6).choices[0]
        report = choice.logprobs
        self.assertEqual("".join(report.tokens), choice.text)
        self.assertEqual(report.text_offset[0], 0)
        for token, logprob, top, offset in zip(
                report.tokens, report.token_logprobs, report.top_logprobs, report.text_offset, strict=True):
            self.assertTrue(choice.text[offset:].startswith(token))
            self.assertAlmostEqual(logprob, max(top.values()), 4)
            self.assertIn(token, top)

    def test_echo_scores_the_prompt(self):
        answer = self.complete(echo=True, logprobs=0, max_tokens=0)
        report = answer.choices[0].logprobs
        self.assertEqual(answer.choices[0].text, STORY)
        self.assertEqual(answer.usage.completion_tokens, 0)
        self.assertEqual(len(report.tokens), answer.usage.prompt_tokens)
        self.assertIsNone(report.token_logprobs[0])
        self.assertTrue(all(logprob <= 0 for logprob in report.token_logprobs[1:]))


class StreamTest(ApiTest):
    def test_chat_streams_what_it_answers(self):
        whole = self.chat()
        chunks = list(self.chat(stream=True, stream_options={"include_usage": True}))
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual(len({chunk.id for chunk in chunks}), 1)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual([chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1],
                         whole.choices[0].finish_reason)
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(chunks[-1].usage.prompt_tokens, whole.usage.prompt_tokens)
        self.assertTrue(all(chunk.usage is None for chunk in chunks[:-1]))

    def test_completion_streams_what_it_answers(self):
        whole = self.complete()
        chunks = list(self.complete(stream=True))
        self.assertEqual("".join(chunk.choices[0].text for chunk in chunks), whole.choices[0].text)

    def test_choices_share_a_stream(self):
        fields = {"n": 2, "temperature": 1.0, "seed": 9, "max_tokens": 12}
        texts = ["", ""]
        for chunk in self.chat(stream=True, **fields):
            texts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
        self.assertEqual(texts, [choice.message.content for choice in self.chat(**fields).choices])

    def test_the_stream_helper_assembles_logprobs(self):
        text = self.chat().choices[0].message.content
        fields = {"logprobs": True, "stop": text[len(text) // 2]}  # the helper refuses answers cut by length
        with self.client.chat.completions.stream(
                model=server.model, messages=CHAT, temperature=0, max_tokens=24, **fields) as stream:
            answer = stream.get_final_completion()
        plain = self.chat(**fields)
        self.assertEqual(answer.choices[0].message.content, plain.choices[0].message.content)
        self.assertEqual([token.token for token in answer.choices[0].logprobs.content],
                         [token.token for token in plain.choices[0].logprobs.content])

    def test_closing_a_stream_frees_its_requests(self):
        def ended(reason):
            return metric(rf'tandem_requests_finished_total\{{reason="{reason}"\}}') or 0

        for _ in range(20):  # another one where the answers are complete before the stream is closed
            cancelled, complete = ended("cancelled"), ended("length")
            stream = self.chat(stream=True, n=8, max_tokens=400, extra_body={"ignore_eos": True})
            next(iter(stream))
            stream.close()
            # The gauge alone may still be that of the idle server before.
            wait_for(lambda: ended("cancelled") + ended("length") >= cancelled + complete + 8 and
                     metric(r'tandem_requests\{state="running"\}') == 0, "requests of a closed stream end")
            if ended("cancelled") == cancelled + 8:
                return
        self.fail("requests of a closed stream run on")


class ErrorTest(ApiTest):
    def bad_request(self, call, **fields):
        with self.assertRaises(openai.BadRequestError) as caught:
            call(**fields)
        self.assertEqual(caught.exception.type, "invalid_request_error")
        return caught.exception

    def test_bad_fields_are_named(self):
        for field, value in {"temperature": 3, "top_p": -1, "n": 0, "max_tokens": -5, "seed": 1.5, "logit_bias": {"x": 1},
                             "stop": 5, "presence_penalty": 9}.items():
            self.assertEqual(self.bad_request(self.chat, **{field: value}).param.split(".")[0], field)
            self.assertEqual(self.bad_request(self.complete, **{field: value}).param.split(".")[0], field)
        tools = [{"type": "function", "function": {"name": 5}}]
        self.assertEqual(self.bad_request(self.chat, tools=tools).param, "tools[0].function.name")
        self.assertEqual(self.bad_request(self.chat, extra_body={"colour": "red"}).param, "colour")

    def test_a_prompt_beyond_the_context_is_refused(self):
        error = self.bad_request(self.complete, prompt="story " * 20000)
        self.assertEqual(error.code, "context_length_exceeded")

    def test_another_model_is_not_found(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.chat(model="gpt-4")
        self.assertEqual(caught.exception.code, "model_not_found")
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("gpt-4")

    def test_a_stream_is_refused_like_a_plain_request(self):
        self.assertEqual(self.bad_request(self.chat, stream=True, temperature=3).param, "temperature")

    def test_a_wrong_key_is_refused(self):
        if not server.api_key:
            self.skipTest("the server needs no key")
        with self.assertRaises(openai.AuthenticationError) as caught, client(api_key="wrong") as stranger:
            stranger.models.list()
        self.assertEqual(caught.exception.code, "invalid_api_key")


@contextlib.contextmanager
def own_daemon():
    from daemon import Daemon

    with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
        keys.write("test-key\n")
        keys.flush()
        with Daemon("--attention", "cpu", "--api-keys", keys.name) as daemon:
            server.base_url, server.api_key = daemon.url, "test-key"
            yield


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base-url", help="a running server, without /v1; default: start one")
    parser.add_argument("--api-key")
    parser.add_argument("--model", help="default: the one the server lists")
    options, rest = parser.parse_known_args()
    server.__dict__.update(vars(options))
    with contextlib.ExitStack() as stack:
        if server.base_url is None:
            stack.enter_context(own_daemon())
        server.base_url = server.base_url.rstrip("/")
        if server.model is None:
            with client() as lister:
                server.model = lister.models.list().data[0].id
        program = unittest.main(argv=[sys.argv[0], *rest], exit=False)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()
