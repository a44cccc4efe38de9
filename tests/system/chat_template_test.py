# SPDX-License-Identifier: Apache-2.0
#
# What reaches a chat template: tools, calls, variables. Of one that cannot be used: the reason with its line and column is
# in the log, in the answers to chats, and in the error of `tandem generate --chat`. Plain prompts work.
import tempfile
import unittest
from pathlib import Path

from daemon import Daemon, run
from directory_model_test import write_model

CASES = {  # template: what every message names
    "{{ bos_token }}\n  {% for m in messages %}{{ m.content | frobnicate }}{% endfor %}":
        "line 2, column 41: unknown filter 'frobnicate'",
    "{% if true %}never closed": "line 1, column 26: the template ends before 'endif'",
}
TOOLS = ("{{ tools[0].function.name }} {{ tools[0].function.parameters | tojson }}"
         "{% for m in messages %}|{{ m.role }} {{ m.content }}"
         "{% for c in m.tool_calls or [] %} {{ c.id }} {{ c.function.name }} {{ c.function.arguments['in'] }}{% endfor %}"
         "{% if m.tool_call_id %} {{ m.tool_call_id }}{% endif %}{% endfor %}|{{ mood }} {{ enable_thinking }}")
CHAT = {"model": "broken", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}


class ChatTemplateTest(unittest.TestCase):
    def model(self, template):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folder = Path(temporary.name) / "broken"
        folder.mkdir()
        write_model(folder)
        (folder / "chat_template.jinja").write_text(template)
        return str(folder)

    def test_the_daemon_says_why_and_serves_plain_prompts(self):
        for template, reason in CASES.items():
            with Daemon("--model", self.model(template), "--attention", "cpu") as daemon:
                status, _, body = daemon.request("POST", "/v1/chat/completions", CHAT)
                self.assertEqual(status, 422, body)
                self.assertEqual(body["error"]["type"], "server_error")
                self.assertEqual(body["error"]["code"], "chat_template_unusable")
                self.assertIn(reason, body["error"]["message"])
                self.assertIn("model 'broken'", body["error"]["message"])
                body = daemon.complete("Once", model="broken", max_tokens=2, temperature=0, ignore_eos=True)
                self.assertEqual(body["usage"]["completion_tokens"], 2)
                log = daemon.log_path.read_text()
                warnings = [line for line in log.split("\n") if "warning" in line and reason in line]
                self.assertEqual(len(warnings), 1, log)

    def test_a_template_that_fails_while_it_renders_is_a_fault_too(self):
        with Daemon("--model", self.model("{{ messages[0].content }}\n{{ nobody.name }}"), "--attention",
                    "cpu") as daemon:
            status, _, body = daemon.request("POST", "/v1/chat/completions", CHAT)
            self.assertEqual(status, 422, body)
            self.assertIn("line 2, column 4: 'nobody' is undefined", body["error"]["message"])

    def test_what_the_template_refuses_is_the_clients_fault(self):
        with Daemon("--model", self.model("{{ raise_exception('say more') }}"), "--attention", "cpu") as daemon:
            status, _, body = daemon.request("POST", "/v1/chat/completions", CHAT)
            self.assertEqual(status, 400, body)
            self.assertIn("say more", body["error"]["message"])

    def test_tools_and_their_calls_reach_the_template(self):
        body = {"messages": [
                    {"role": "user", "content": "Rain?"},
                    {"role": "assistant", "content": None, "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "sky", "arguments": '{"in": "Ulm"}'}}]},
                    {"role": "tool", "tool_call_id": "c1", "content": "dry </s>"}],
                "tools": [{"type": "function", "function": {"name": "sky", "parameters": {"z": 1, "a": 2}}}],
                "chat_template_kwargs": {"mood": "glad"}, "reasoning_effort": "none"}
        text = ('sky {"z": 1, "a": 2}|user Rain?|assistant None c1 sky Ulm|tool dry </s> c1|glad False')
        with Daemon("--model", self.model(TOOLS), "--attention", "cpu") as daemon:
            status, headers, tokens = daemon.request("POST", "/tokenize", body)
            self.assertEqual(status, 200, tokens)
            status, _, back = daemon.request("POST", "/detokenize", {"tokens": tokens["tokens"]})
            self.assertEqual(back["content"].strip(), text)
            self.assertNotIn(2, tokens["tokens"], "the text of a control token in a message stays text")
            status, headers, answer = daemon.request("POST", "/v1/chat/completions", {**body, "max_tokens": 1})
            self.assertEqual(status, 200, answer)
            self.assertNotIn("Warning", headers)
            self.assertEqual(answer["usage"]["prompt_tokens"], tokens["count"])
            _, headers, _ = daemon.request("POST", "/v1/chat/completions",
                                           {**body, "max_tokens": 1, "tool_choice": "required"})
            self.assertIn("tool_choice", headers["Warning"])

    def test_a_template_without_tools_is_told(self):
        tools = [{"type": "function", "function": {"name": "sky"}}]
        with Daemon("--model", self.model("{{ messages[0].content }}"), "--attention", "cpu") as daemon:
            status, headers, _ = daemon.request("POST", "/v1/chat/completions", {**CHAT, "tools": tools})
            self.assertEqual(status, 200)
            self.assertIn("ignored: tools", headers["Warning"])
        with Daemon("--model", self.model("{{ messages[0].content }}"), "--attention", "cpu", "--strict") as daemon:
            status, _, body = daemon.request("POST", "/v1/chat/completions", {**CHAT, "tools": tools})
            self.assertEqual((status, body["error"]["param"]), (400, "tools"))

    def test_generate_names_the_reason(self):
        for template, reason in CASES.items():
            process = run("generate", "--model", self.model(template), "--chat", "--prompt", "Hi", "--attention", "cpu")
            self.assertGreater(process.returncode, 0)
            self.assertIn(reason, process.stderr)
            self.assertIn("leave out --chat", process.stderr)


if __name__ == "__main__":
    unittest.main()
