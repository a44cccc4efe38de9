# SPDX-License-Identifier: Apache-2.0
#
# The command line as an operator meets it: errors, help, configuration, cards by their ids, memory limits.
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from daemon import BUILD, TANDEM, Daemon, card_environment, run, run_json


def bare_environment(**more):
    """Without any set-up for cards."""
    names = ("XILINX_XRT", "TANDEM_CARDS", "XCL_EMULATION_MODE", "LD_LIBRARY_PATH", "OPENCL_LAYERS", "OCL_ICD_VENDORS")
    return {**{name: value for name, value in os.environ.items() if name not in names}, **more}


class ErrorTest(unittest.TestCase):
    def expect(self, *arguments, words, code=2):
        process = run(*arguments)
        self.assertEqual(process.returncode, code, process.stderr)
        self.assertIn(words, process.stderr)
        self.assertTrue(process.stderr.startswith("tandem: ["), process.stderr)
        return process.stderr

    def test_help_of_no_command_is_an_error(self):
        for words in (("help", "sevre"), ("sevre", "--help")):
            self.expect(*words, words="unknown command 'sevre' (did you mean 'serve'?)")
        self.assertEqual(run("help", "serve").returncode, 0)
        self.assertEqual(run("help").returncode, 0)

    def test_every_error_has_one_form(self):
        self.expect("serve", "--port", "70000", words="--port: Value 70000 not in range 0 to 65535; see `tandem serve --help`")
        self.expect("simulate-collectives", "--density", "3", words="'3' is not a number from 1e-12 to 1")
        self.expect("serve", "--heartbeat-seconds", "0", words="'0' is not a number from 0.01 to 3600;")
        self.expect("generate", "--prompt", "x", "--context", "-1", words="'-1' is not a number from 0 on;")
        self.expect("bench", "--seconds", "0", words="'0' is not a number above 0;")
        for command in (("generate", "--prompt", "x"), ("simulate",), ("map", "--qaplib", "x"), ("allreduce-bench",),
                        ("simulate-collectives",), ("sparsify-bench",), ("train",)):
            self.expect(*command, "--seed", "-1", words="--seed: '-1' is not a number from 0;")
        self.expect("serve", "--kv-memory", "4 apples", words="'4 apples' is not a size")
        self.expect("generate", words="--prompt is required")
        self.expect(words="name a command")

    def test_options_of_the_log_may_precede_a_command_of_another_program(self):
        for command in ("card", "map", "tensor", "train", "sparsify-bench", "trace-comm"):
            self.expect("--log-level", "debug", command, "--nonsense", words=f"--nonsense; see `tandem {command} --help`")

    def test_an_error_of_any_program_is_json_where_the_log_is(self):
        missing = f"{__file__}/none"
        for command in (("xclbin", "info", missing), ("map", "--qaplib", missing), ("tensor", "stats", __file__), ("simulate-collectives", "--schemes", missing),
                        ("train", "--steps", "1", "--from", missing, "--text", missing),
                        ("trace-comm", "--out", f"{missing}/of", "--", "true")):
            for level in ("info", "off"):
                process = run("--log-format", "json", "--log-level", level, *command)
                self.assertEqual(process.returncode, 2, process.stderr)
                self.assertIn(__file__, json.loads(process.stderr)["message"])

    def test_an_empty_model_is_not_the_demo_model(self):
        self.expect("generate", "--prompt", "x", "--model", "", words="--model: is empty")

    def test_an_empty_file_of_keys_does_not_open_the_server(self):
        for option in ("--api-keys", "--tls-cert", "--tls-key", "--unix", "--port-file"):
            self.expect("serve", "--port", "0", option, "", words=f"{option}: is empty")

    def test_a_context_beyond_the_model_is_refused_before_its_weights_are_read(self):
        text = self.expect("generate", "--prompt", "x", "--context", "999999", words="--context 999999 exceeds the model's 512")
        self.assertNotIn("attention cpu", text)

    def test_a_text_that_cannot_be_read_is_told_with_the_reason(self):
        self.expect("perplexity", "--file", "/no/text", words="No such file or directory")

    def test_help_is_a_command_and_fits_the_page(self):
        self.assertEqual(run("help").stdout, run("--help").stdout)
        self.assertEqual(run("help", "serve").stdout, run("serve", "--help").stdout)
        self.assertIn("--transport", run("help", "allreduce-bench").stdout)
        self.assertEqual(run("-v").stdout, run("--version").stdout)
        for line in run("serve", "--help").stdout.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_options_without_effect_are_told(self):
        process = run("generate", "--prompt", "x", "-n", 1, "--attention", "cpu", "--quantize", "q8_0", "--cuda-kernels", "generic")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("--quantize q8_0 has no effect", process.stderr)
        self.assertIn("--cuda-kernels has no effect", process.stderr)


class JsonListsTest(unittest.TestCase):
    def test_lists_take_a_line_each_or_none(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
            text.write("Once upon a time there was a dog. " * 20)
            text.flush()
            whole = run("perplexity", "--file", text.name, "--attention", "cpu", "--json")
            self.assertLess(len(whole.stdout.splitlines()), 60)
            fields = json.loads(whole.stdout)
            self.assertEqual(len(fields["nll"]), fields["tokens_scored"])
            self.assertGreater(len(fields["ids"]), 100)
            short = json.loads(run("perplexity", "--file", text.name, "--attention", "cpu", "--json", "--no-lists").stdout)
            self.assertNotIn("nll", short)
            self.assertEqual(short["ppl"], fields["ppl"])


class CardsTest(unittest.TestCase):
    def test_ids_ask_for_as_many_cards_as_they_name(self):
        card_environment()  # skips where there are none
        answer = run_json("generate", "--prompt", "Once upon a time", "-n", 4, "--attention", "xrt:0,xrt:1", environment=bare_environment())
        units = [device["device"] for device in answer["devices"] if device["role"] == "attention"]
        self.assertEqual(units, ["xrt:0", "xrt:1"])

    def test_too_few_cards_are_told_with_what_to_set(self):
        process = run("generate", "--prompt", "x", "--attention", "xrt:0,xrt:5", environment=card_environment(2))
        self.assertEqual(process.returncode, 2)
        self.assertIn("TANDEM_CARDS=2 gives 2 cards; set TANDEM_CARDS=6", process.stderr)

    def test_devices_say_what_cards_need(self):
        card_environment()
        self.assertIn("XILINX_XRT is not set", run_json("devices", environment=bare_environment())["hints"]["xrt"])
        self.assertEqual(run_json("devices", environment=card_environment(1))["hints"], {})


class ConfigTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "tandem.toml"

    def check(self, text):
        self.path.write_text(text)
        return run("check-config", self.path)

    def test_finds_everything_that_is_wrong(self):
        process = self.check('port = 70000\n[kv]\nkv-memory = "much"\n')
        self.assertEqual(process.returncode, 2)
        self.assertIn(f"{self.path}:1: --port", process.stderr)
        self.assertIn(f"{self.path}:3: --kv-memory", process.stderr)
        self.assertIn("has 2 errors", process.stderr)
        process = self.check('model = "/no/model"\n\n[http]\napi-keys = "/no/keys"\nhost = "none"\ntls-key = "/no/key"\n'
                             'attention = "abacus:1"\nprt = 1\nport = 1.5\nmodel = "x"\n')
        self.assertEqual(process.returncode, 2)
        lines = process.stderr.splitlines()
        expected = [(1, "/no/model"), (4, "/no/keys"), (5, "nothing to listen on"), (6, "--tls-cert and --tls-key"),
                    (7, "abacus:1"), (8, "unknown key 'prt' (did you mean 'port'?)"), (9, "--port"), (10, "'model' is given twice")]
        for (number, text), line in zip(expected, lines, strict=False):
            self.assertTrue(line.startswith(f"{self.path}:{number}: "), line)
            self.assertIn(text, line)
        self.assertIn("has 8 errors", lines[len(expected)])

    def test_counts_one_as_one(self):
        self.assertTrue(self.check("port = 0\n").stdout.endswith(": 1 key, nothing wrong\n"))
        self.assertTrue(self.check("port = -1\n").stderr.endswith(" has 1 error\n"))

    def test_a_list_gives_several_values(self):
        self.path.write_text('attention = "cpu"\nmodel-alias = ["one", "two"]\n')
        with Daemon("--config", self.path) as daemon:
            for name in ("one", "two"):
                status, _, body = daemon.request("POST", "/v1/completions", {"model": name, "prompt": "a", "max_tokens": 1})
                self.assertEqual(status, 200, body)

    def test_accepts_what_the_daemon_accepts(self):
        process = self.check('attention = "cpu"\nlog-level = "warn"\n[http]\nport = 0\n')
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("3 keys, nothing wrong", process.stdout)
        with Daemon("--config", self.path) as daemon:
            self.assertEqual(daemon.request("GET", "/health")[0], 200)
        self.assertNotIn(" info ", daemon.log_text)

    def test_the_file_sets_the_log(self):
        self.path.write_text('attention = "cpu"\nlog-format = "json"\nlog-level = "debug"\n')
        with Daemon("--config", self.path) as daemon:
            daemon.request("GET", "/livez")
        lines = [json.loads(line) for line in daemon.log_text.splitlines()]
        self.assertTrue(any(line["level"] == "debug" and line["message"].endswith("answers 200") for line in lines))
        with Daemon("--config", self.path, "--log-level", "off") as daemon:
            daemon.request("GET", "/livez")
        self.assertEqual(daemon.log_text, "", "the command line counts more")
        before = run("--log-format", "text", "serve", "--config", self.path, "--attention", "abacus:1")
        self.assertTrue(before.stderr.startswith("tandem: ["), before.stderr)
        process = self.check('log-format = "yaml"\nlog-level = "loud"\n')
        self.assertEqual(process.returncode, 2)
        self.assertIn(f"{self.path}:1: --log-format: yaml", process.stderr)
        self.assertIn(f"{self.path}:2: --log-level: loud", process.stderr)

    def test_the_daemon_names_file_and_line_too(self):
        self.path.write_text("\nmax-running = 0\n")
        process = run("serve", "--config", self.path)
        self.assertEqual(process.returncode, 2)
        self.assertIn(f"{self.path}:2: --max-running", process.stderr)


def memory_folder():
    """A folder of control groups that limit memory, and the file of the limit; None without one that can be written."""
    for folder, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        if os.access(folder, os.W_OK) and (Path(folder) / "cgroup.procs").exists():
            return Path(folder), name
    return None


@unittest.skipUnless(memory_folder(), "needs a control group for memory that can be written")
class MemoryLimitTest(unittest.TestCase):
    def setUp(self):
        folder, name = memory_folder()
        self.group = folder / f"tandem-test-{os.getpid()}"
        self.group.mkdir()
        self.addCleanup(self.group.rmdir)
        if not (self.group / name).exists():
            self.skipTest("the control group has no controller for memory")
        self.limit = self.group / name

    def run_within(self, limit, *arguments):
        self.limit.write_text(str(limit))
        enter = lambda: (self.group / "cgroup.procs").write_text(str(os.getpid()))
        return subprocess.run([TANDEM, *arguments], capture_output=True, text=True, timeout=120, preexec_fn=enter)

    def test_kv_takes_what_the_group_leaves(self):
        process = self.run_within(400 << 20, "generate", "--prompt", "Once", "-n", "2", "--attention", "cpu", "--max-running", "4000")
        self.assertEqual(process.returncode, 0, process.stderr)
        pages = int(process.stderr.split(" KV pages of 40.0 KiB")[0].split()[-1])
        self.assertLess(pages * 40 << 10, 400 << 20)
        self.assertGreater(pages * 40 << 10, 50 << 20)

    def test_what_cannot_fit_is_refused_before_loading(self):
        process = self.run_within(400 << 20, "generate", "--prompt", "Once", "--attention", "cpu", "--kv-memory", "1GiB",
                                  "--max-running", "4000")
        self.assertEqual(process.returncode, 2, process.stderr)
        self.assertIn("--kv-memory asks for 1024.0 MiB", process.stderr)
        self.assertIn("limits this process to 400.0 MiB", process.stderr)


if __name__ == "__main__":
    unittest.main()
