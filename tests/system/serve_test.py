# SPDX-License-Identifier: Apache-2.0
#
# The daemon as an operator runs it: start, limits, keys, drain, a card that fails, memory.
import concurrent.futures
import json
import os
import re
import signal
import tempfile
import threading
import unittest
from pathlib import Path

from daemon import Daemon
from waiting import wait_for

STORY = {"model": "tandem-stories", "prompt": "Once upon a time", "temperature": 0, "ignore_eos": True}


def text_of(events):
    return "".join(choice["text"] for event in events for choice in event["choices"])


# In f32 arithmetic: rounded activations turn last bits into tokens.
EXACT = ["--quantize", "f32"]

# What is lost stays lost.
FOR_EVER = ["--revive-seconds", "0"]


# Without shares a card that was slow when it was measured may get no sequence.
EVEN_CARDS = "xrt:0=0.5,xrt:1=0.5"


class CardLossTest(unittest.TestCase):
    def stream_while(self, daemon, count, disturb, tokens=150):
        """`count` streams at once; calls disturb() when every one has begun. Returns their texts."""
        begun = threading.Barrier(count + 1, timeout=1200)

        def read(_):
            parts = []
            for event in daemon.stream("/v1/completions", {**STORY, "max_tokens": tokens}):
                parts.append(event)
                if len(parts) == 5:
                    begun.wait()
            return text_of(parts)

        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            futures = [pool.submit(read, i) for i in range(count)]
            begun.wait()
            disturb()
            return [future.result(1200) for future in futures]

    def test_killing_one_card_changes_no_token(self):
        with Daemon(*EXACT, "--attention", "xrt:0,xrt:1", *FOR_EVER, cards=2) as daemon:
            expected = self.stream_while(daemon, 4, lambda: None)
            cards = daemon.card_processes()
            self.assertEqual(len(cards), 2)
            texts = self.stream_while(daemon, 4, lambda: os.kill(cards[0], signal.SIGKILL))
            self.assertEqual(texts, expected)
            wait_for(lambda: sorted(card["alive"] for card in self.attention(daemon).values()) == [False, True], "one card is lost")
            self.assertEqual(daemon.request("GET", "/health")[0], 200)

    def test_a_card_that_dies_while_nothing_is_to_be_done_is_noticed(self):
        with Daemon("--attention", "xrt:0,cpu", *FOR_EVER, cards=1) as daemon:
            os.kill(daemon.card_processes()[0], signal.SIGKILL)
            alive = lambda: {name: device["alive"] for name, device in self.attention(daemon).items()}  # noqa: E731
            wait_for(lambda: not alive()["xrt:0"], "the card is lost")
            self.assertEqual(alive(), {"xrt:0": False, "cpu": True})

    def test_killing_every_card_falls_back_to_host_memory(self):
        with Daemon(*EXACT, "--attention", "xrt:0,xrt:1", "--placement", "interleave", *FOR_EVER,
                    cards=2) as daemon:
            expected = self.stream_while(daemon, 2, lambda: None)
            texts = self.stream_while(
                daemon, 2, lambda: [os.kill(pid, signal.SIGKILL) for pid in daemon.card_processes()])
            self.assertEqual(texts, expected)
            # The streams may have ended before the cards.
            wait_for(lambda: {name for name, unit in self.attention(daemon).items() if unit["alive"]} == {"cpu"}, "both cards are lost")

    def attention(self, daemon):
        return {d["device"]: d for d in daemon.status()["devices"] if d["role"] == "attention"}

    def check_comes_back(self, stop, go_on, timeout_ms):
        """`timeout_ms` is long for a card that works: a loaded machine may give it no time for seconds."""
        arguments = [*EXACT, "--attention", EVEN_CARDS, "--device-timeout-ms", timeout_ms, "--revive-seconds", "10"]
        with Daemon(*arguments, cards=2) as daemon:
            expected = self.stream_while(daemon, 4, lambda: None)
            cards = daemon.card_processes()
            self.assertEqual(daemon.request("GET", "/health")[2], {"status": "ok"})
            heard = []

            def disturb():
                stop(cards[1])
                # Work for both cards: the streams may have ended by now, and an idle card that hangs is not missed.
                fields = {"n": 4, "max_tokens": 20, "temperature": 0, "ignore_eos": True}
                work = threading.Thread(target=daemon.complete, args=(STORY["prompt"],), kwargs=fields)
                work.start()
                self.addCleanup(work.join)
                wait_for(lambda: heard.append(daemon.status()) or heard[-1]["degraded"], "the card is lost")
                heard.append((heard[-1], daemon.request("GET", "/health")))

            self.assertEqual(self.stream_while(daemon, 4, disturb, 400), self.long(daemon))
            status, health = heard[-1]
            self.assertEqual(len(status["lost_devices"]), 1)
            lost = status["lost_devices"][0]
            self.assertEqual((health[0], health[2]), (200, {"status": "degraded", "lost": [lost]}))
            self.assertIn(f'tandem_unit_losses_total{{unit="{lost}"}} 1', daemon.request("GET", "/metrics")[2])
            self.assertIn(f"attention unit {lost} is lost", daemon.log_path.read_text())
            go_on(cards[1])
            wait_for(lambda: not daemon.status()["degraded"], "the card is back")
            self.assertEqual(daemon.request("GET", "/health")[2], {"status": "ok"})
            launches = self.attention(daemon)[lost]["launches"]
            # Choices of one request run at the same time, so they take both cards. Requests may come one after the other.
            choices = daemon.complete(STORY["prompt"], n=8, max_tokens=150, temperature=0, ignore_eos=True)["choices"]
            self.assertEqual({choice["text"] for choice in choices}, set(expected))
            card = self.attention(daemon)[lost]
            self.assertTrue(card["alive"])
            self.assertEqual(card["losses"], 1)
            self.assertGreater(card["launches"], launches)
            self.assertIn(f"attention unit {lost} is back", daemon.log_path.read_text())

    def long(self, daemon):
        return [daemon.complete(STORY["prompt"], max_tokens=400, temperature=0, ignore_eos=True)["choices"][0]["text"]] * 4

    def test_a_card_that_hangs_is_named_and_comes_back_when_it_answers(self):
        self.check_comes_back(lambda pid: os.kill(pid, signal.SIGSTOP), lambda pid: os.kill(pid, signal.SIGCONT),
                              "20000")

    def test_a_card_that_died_comes_back(self):
        self.check_comes_back(lambda pid: os.kill(pid, signal.SIGKILL), lambda pid: None, "60000")

    def test_a_daemon_ends_while_a_card_hangs(self):
        with Daemon("--attention", "xrt:0=0.9,cpu=0.1", "--device-timeout-ms", "300", "--revive-seconds", "1", cards=1) as daemon:
            cards = daemon.card_processes()
            self.addCleanup(lambda: [os.kill(pid, signal.SIGCONT) for pid in cards if Path(f"/proc/{pid}").exists()])
            os.kill(cards[0], signal.SIGSTOP)
            for i in range(4):
                daemon.complete(f"{i} upon a time", max_tokens=3)
            wait_for(lambda: daemon.status()["degraded"], "the card is lost")
            daemon.process.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.process.wait(1200), 0)


class DaemonTest(unittest.TestCase):
    def test_sigterm_lets_streams_finish(self):
        with Daemon("--attention", "cpu") as daemon:
            events = daemon.stream("/v1/completions", {**STORY, "max_tokens": 300})
            parts = [next(events)]
            daemon.process.send_signal(signal.SIGTERM)
            parts += list(events)
            self.assertEqual(parts[-1]["choices"][0]["finish_reason"], "length")
            self.assertEqual(daemon.process.wait(1200), 0)

    def test_a_thousand_connections_are_all_answered(self):
        for io_threads in (1, 2):
            with Daemon("--attention", "cpu", "--io-threads", io_threads) as daemon:
                for _ in range(500):
                    self.assertEqual(daemon.request("GET", "/v1/models")[0], 200)

    def test_a_disconnected_client_frees_its_pages(self):
        with Daemon("--attention", "cpu", "--no-prefix-cache") as daemon:
            events = daemon.stream("/v1/completions", {**STORY, "max_tokens": 400})
            next(events)
            events.close()
            def is_free():
                status = daemon.status()
                return status["running"] == 0 and all(d.get("pages_used", 0) == 0 for d in status["devices"])
            wait_for(is_free, "the pages are free", more=lambda: f": {daemon.status()}")

    def test_more_requests_than_pages_all_finish(self):
        # A preempted request is computed anew, in batches of other sizes.
        with Daemon(*EXACT, "--attention", "cpu", "--kv-memory", "1MiB") as daemon:
            with concurrent.futures.ThreadPoolExecutor(12) as pool:
                answers = list(pool.map(lambda i: daemon.complete("Once upon a time", max_tokens=100, temperature=0,
                                                                  ignore_eos=True), range(12)))
            texts = {answer["choices"][0]["text"] for answer in answers}
            self.assertEqual(len(texts), 1)

    def test_a_full_queue_answers_429_with_retry_after(self):
        with Daemon("--attention", "cpu", "--max-running", "1", "--max-waiting", "1") as daemon:
            streams = []
            saw = None
            for _ in range(12):
                connection = daemon.connection()
                connection.request("POST", "/v1/completions", json.dumps({**STORY, "max_tokens": 400, "stream": True}),
                                   {"Content-Type": "application/json"})
                streams.append(connection)
            for connection in streams:
                response = connection.getresponse()
                if response.status == 429:
                    saw = response
                    break
            self.assertIsNotNone(saw)
            self.assertTrue(int(saw.getheader("Retry-After")) >= 1)
            self.assertEqual(json.loads(saw.read())["error"]["type"], "rate_limit_error")
            for connection in streams:
                connection.close()

    def test_limits_of_one_request_are_400_with_their_numbers(self):
        with Daemon("--attention", "cpu", "--max-choices", "4", "--max-request-tokens", "64", "--max-waiting", "3") as daemon:
            def message(fields, path="/v1/completions"):
                status, _, body = daemon.request("POST", path, {**STORY, **fields})
                self.assertEqual(status, 400, body)
                return body["error"]["message"]

            self.assertIn("3", message({"n": 4}), "more than can ever wait")
            self.assertIn("at most 3", message({"prompt": ["a"] * 4}))
            self.assertIn("at most 64", message({"max_tokens": 65}))
            self.assertIn("at most 64", message({"n": 2, "max_tokens": 33}))
            self.assertIn("at most 1024", message({"stop_token_ids": list(range(1025))}))
            answer = daemon.complete("Once", max_tokens=21, n=3, ignore_eos=True)
            self.assertEqual(answer["usage"]["completion_tokens"], 63)
        with Daemon("--attention", "cpu") as daemon:
            chat = {"messages": [{"role": "user", "content": "Tell."}], "n": 64, "logprobs": True, "top_logprobs": 20}
            status, _, body = daemon.request("POST", "/v1/chat/completions", chat)
            self.assertEqual(status, 400, body)
            self.assertIn("64 choices", body["error"]["message"])
            self.assertIn("21 log-probabilities", body["error"]["message"])

    def test_a_request_ends_with_its_seconds(self):
        with Daemon("--attention", "cpu", "--max-request-seconds", "1", "--max-running", "1") as daemon:
            endless = {**STORY, "max_tokens": 100000}
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                answers = list(pool.map(lambda _: daemon.request("POST", "/v1/completions", endless), range(8)))
            for status, headers, body in answers:
                self.assertIn(status, (200, 503), body)
                if status == 200:
                    self.assertEqual(body["choices"][0]["finish_reason"], "length")
                else:
                    self.assertGreaterEqual(int(headers["Retry-After"]), 1)
            self.assertIn(200, [status for status, _, _ in answers])

    def test_clients_of_other_servers_are_served(self):
        with Daemon("--attention", "cpu", "--model-alias", "gpt-4o", "--model-alias", "local") as daemon:
            fields = {"prompt": "Once", "max_tokens": 2, "cache_prompt": True, "session_id": "a", "repeat_penalty": 1.1,
                      "reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}}
            for model in ({}, {"model": "local"}, {"model": "gpt-4o"}):
                status, headers, body = daemon.request("POST", "/v1/completions", {**fields, **model})
                self.assertEqual(status, 200, body)
                for name in ("cache_prompt", "session_id", "reasoning_effort", "chat_template_kwargs"):
                    self.assertIn(name, headers["Warning"])
            status, _, body = daemon.request("POST", "/tokenize", {"content": "Once upon a time</s>"})
            self.assertEqual(status, 200, body)
            self.assertEqual(body["count"], len(body["tokens"]))
            text = daemon.request("POST", "/detokenize", {"tokens": body["tokens"]})[2]["content"]
            self.assertEqual(text, "Once upon a time</s>")
            plain = daemon.request("POST", "/tokenize", {"content": "Once upon a time</s>", "parse_special": False})[2]
            self.assertGreater(plain["count"], body["count"])
            again = daemon.request("POST", "/detokenize", {"tokens": plain["tokens"]})[2]["content"]
            self.assertEqual(again, "Once upon a time</s>")
            echo = daemon.complete("Once upon", echo=True, logprobs=0, max_tokens=1)["choices"][0]
            self.assertIn("Once", echo["logprobs"]["tokens"][:2], "no space that the text lacks")
            self.assertEqual(daemon.request("POST", "/v1/completions", fields, {"Content-Encoding": "gzip"})[0], 415)
        with Daemon("--attention", "cpu", "--strict") as daemon:
            status, _, body = daemon.request("POST", "/v1/completions", fields)
            self.assertEqual((status, body["error"]["type"]), (400, "invalid_request_error"))

    def test_a_queued_stream_sends_comments(self):
        with Daemon("--attention", "cpu", "--max-running", "1", "--heartbeat-seconds", "0.02") as daemon:
            connections = [daemon.connection() for _ in range(5)]  # the last waits for all others
            for connection in connections:
                connection.request("POST", "/v1/completions", json.dumps({**STORY, "max_tokens": 100000, "stream": True}),
                                   {"Content-Type": "application/json"})
            answers = [[line.strip() for line in connection.getresponse() if line.strip()] for connection in connections]
            self.assertTrue(any(b": waiting" in lines for lines in answers))
            for lines, connection in zip(answers, connections):
                self.assertEqual(lines[-1], b"data: [DONE]")
                connection.close()

    def test_keys_guard_every_route_but_health(self):
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
            keys.write("# keys\nsecret-1\n")
            keys.flush()
            with Daemon("--attention", "cpu", "--api-keys", keys.name) as daemon:
                for path in ("/v1/models", "/metrics", "/status"):
                    self.assertEqual(daemon.request("GET", path)[0], 401, path)
                    good = {"Authorization": "Bearer secret-1"}
                    self.assertEqual(daemon.request("GET", path, headers=good)[0], 200, path)
                self.assertEqual(daemon.request("GET", "/health")[0], 200)

    def test_a_prompt_beyond_the_context_is_refused_with_both_lengths(self):
        with Daemon("--attention", "cpu", "--context", "64") as daemon:
            status, _, body = daemon.request(
                "POST", "/v1/completions", {**STORY, "prompt": "story " * 200, "max_tokens": 4})
            self.assertEqual(status, 400)
            self.assertIn("64", body["error"]["message"])
            lengths = [int(number) for number in re.findall(r"\d+", body["error"]["message"])]
            self.assertGreater(max(lengths), 64, body["error"]["message"])

    def test_metrics_name_every_unit(self):
        with Daemon("--attention", "cpu,xrt:0", cards=1) as daemon:
            daemon.complete("Once upon a time", max_tokens=8)
            text = daemon.request("GET", "/metrics")[2]
            for name in ('tandem_requests{state="running"}', 'tandem_requests{state="waiting"}', "tandem_time_to_first_token_seconds",
                         "tandem_inter_token_seconds", "tandem_queue_seconds", "tandem_prefill_seconds",
                         "tandem_decode_seconds", 'unit="cpu"', 'unit="xrt:0"'):
                self.assertIn(name, text)


if __name__ == "__main__":
    unittest.main()
