# SPDX-License-Identifier: Apache-2.0
#
# The command line as an operator meets it: errors, help, configuration, cards by their ids, memory limits.
import json
import os
import shutil
import socket
import subprocess
import sys
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
        self.expect("generate", "--prompt", "x", "--attention", "cpu", "--kv-memory", "1KiB", "--log-level", "error", words="raise --kv-memory")
        self.expect("generate", words="--prompt is required")
        self.expect(words="name a command")

    def test_options_of_the_log_may_precede_a_command_of_another_program(self):
        for command in ("card", "map", "tensor", "train", "sparsify-bench", "trace-comm"):
            self.expect("--log-level", "debug", command, "--nonsense", words=f"--nonsense; see `tandem {command} --help`")

    def test_other_options_before_a_command_of_another_program_are_refused_with_its_name(self):
        self.expect("--seed", "1", "map", words="--seed stands before 'map'; write it behind, where the program tandem-planner reads it")
        self.expect("--config=x.toml", "train", words="--config stands before 'train'; write it behind, where the program tandem-train reads it")
        self.assertEqual(run("--help", "map").stdout, run("map", "--help").stdout)

    def test_a_missing_program_is_told_with_how_to_get_it(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "bin" / "tandem"
            program.parent.mkdir()
            shutil.copy(TANDEM, program)
            for command, name, component in (("map", "tandem-planner", "serving"), ("card", "tandem-emulation", "fpga"), ("tensor", "tandem-tensor", "serving"),
                                             ("bench", "tandem-models", "serving"), ("train", "tandem-train", "training"),
                                             ("stencil", "tandem-collectives", "collectives"), ("trace-comm", "tandem-trace-comm", "serving")):
                process = subprocess.run([program, command, "--help"], capture_output=True, text=True)
                self.assertEqual(process.returncode, 2, process.stderr)
                self.assertIn(f"cannot run {program.parent}/{name}: No such file or directory; install it with "
                              f"`cmake --install BUILD --component {component}`", process.stderr)
            (Path(folder) / "CMakeCache.txt").touch()
            process = subprocess.run([program, "map", "--help"], capture_output=True, text=True)
            self.assertIn(f"build it with `cmake --build {folder} --target tandem-planner`", process.stderr)

    def test_every_program_runs_alone_by_its_own_name(self):
        commands = {"tandem-emulation": ("card", "xclbin"), "tandem-models": ("bench", "perplexity", "quantize"), "tandem-tensor": ("tensor",),
                    "tandem-planner": ("balance", "map", "place", "simulate", "simulate-pipeline"), "tandem-train": ("train",),
                    "tandem-collectives": ("allreduce-bench", "simulate-collectives", "sparsify-bench", "stencil"), "tandem-trace-comm": ("trace-comm",)}
        for name, its_commands in commands.items():
            with self.subTest(program=name):
                call = lambda *words, name=name: subprocess.run([BUILD / "bin" / name, *words], capture_output=True, text=True, timeout=1200)
                text = call("--help").stdout
                self.assertIn(f"Usage: {name} [OPTIONS] SUBCOMMAND", text)
                for command in its_commands:
                    self.assertRegex(text, rf"\n  {command} ")
                    self.assertIn(f"Usage: {name} {command} [OPTIONS]", call(command, "--help").stdout)
                    self.assertIn(f"Usage: tandem {command} [OPTIONS]", run(command, "--help").stdout)
                self.assertEqual(call("--version").stdout, run("--version").stdout)
                for words, error in ((("nonsense",), "unknown command 'nonsense'"), (("--nonsense",), "unknown option --nonsense"), ((), "name a command")):
                    process = call(*words)
                    self.assertEqual(process.returncode, 2, process.stderr)
                    self.assertIn(f"{error}; see `{name} --help`", process.stderr)

    def test_an_error_of_any_program_is_json_where_the_log_is(self):
        missing = f"{__file__}/none"
        for command in (("xclbin", "info", missing), ("map", "--qaplib", missing), ("tensor", "stats", __file__), ("simulate-collectives", "--schemes", missing),
                        ("train", "--steps", "1", "--from", missing, "--text", missing),
                        ("trace-comm", "--out", f"{missing}/of", "--", "true")):
            for level in ("info", "off"):
                process = run("--log-format", "json", "--log-level", level, *command)
                self.assertEqual(process.returncode, 2, process.stderr)
                self.assertIn(__file__, json.loads(process.stderr)["message"])

    def test_output_that_is_lost_on_a_full_disk_is_an_error(self):
        text = ("perplexity", "--file", __file__, "--attention", "cpu", "--json")
        for command in (("generate", "--prompt", "Once", "-n", "4", "--attention", "cpu"), ("key", "--name", "a"), ("devices", "--json"), ("--help",),
                        ("simulate", "--list"), text):
            with self.subTest(command=command), open("/dev/full", "w", encoding="utf-8") as full:
                process = subprocess.run([TANDEM, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=1200)
                self.assertEqual(process.returncode, 2, process.stderr)
                self.assertIn("[output] cannot write standard output", process.stderr)

    def test_an_empty_model_is_not_the_demo_model(self):
        self.expect("generate", "--prompt", "x", "--model", "", words="--model: is empty")

    def test_an_empty_file_of_keys_does_not_open_the_server(self):
        for option in ("--api-keys", "--tls-cert", "--tls-key", "--unix", "--port-file"):
            self.expect("serve", "--port", "0", option, "", words=f"{option}: is empty")

    def test_an_address_in_use_is_refused_before_the_model_is_read(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as model, socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            refused = run("serve", "--model", model.name, "--port", port)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f"cannot listen on 127.0.0.1 port {port}", refused.stderr)
            free = run("serve", "--model", model.name, "--port", 0)
            self.assertIn(model.name, free.stderr)
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(suffix=".gguf") as model:
            path = f"{folder}/socket"
            with socket.socket(socket.AF_UNIX) as other:
                other.bind(path)
                other.listen()
                refused = run("serve", "--model", model.name, "--unix", path, "--host", "")
                self.assertIn("another process listens there", refused.stderr)

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


class BadInputTest(unittest.TestCase):
    def test_every_subcommand_has_help(self):
        for command in ("serve", "generate", "perplexity", "devices", "xclbin"):
            process = run(command, "--help")
            self.assertEqual(process.returncode, 0)
            self.assertIn("Usage", process.stdout)

    def test_hostile_model_files_end_with_code_2_and_name_the_file(self):
        good = (BUILD / "share" / "tandem" / "models" / "tandem-stories-q8_0.gguf").read_bytes()
        with tempfile.TemporaryDirectory() as directory:
            for name, data in {
                "empty.gguf": b"",
                "magic.gguf": b"GGML" + good[4:],
                "cut.gguf": good[: len(good) // 2],
                "count.gguf": good[:8] + b"\xff" * 16 + good[24:],
            }.items():
                path = Path(directory) / name
                path.write_bytes(data)
                process = run("generate", "--prompt", "x", "--model", path)
                self.assertEqual(process.returncode, 2, name + process.stderr)
                self.assertIn(name, process.stderr)

    def test_bad_arguments_end_with_code_2(self):
        for arguments in (["generate"], ["generate", "--prompt", "x", "--temperature", "-1"],
                          ["generate", "--prompt", "x", "--attention", "abacus"], ["frobnicate"],
                          ["generate", "--prompt", "x", "--attention", "cpu,cpu"],
                          ["generate", "--prompt", "x", "--kv-memory", "-1"],
                          ["generate", "--prompt", "x", "--seed", "-1"],
                          ["perplexity", "--file", "/tmp"],
                          ["perplexity", "--file", sys.executable],
                          ["perplexity", "--file", __file__, "--context", "2"]):
            process = run(*arguments)
            self.assertEqual(process.returncode, 2, f"{arguments}: {process.stderr}")
            self.assertTrue(process.stderr)
            self.assertEqual(process.stdout, "", f"{arguments} printed before it failed")

    def test_a_card_that_is_not_there_is_told_from_a_missing_runtime(self):
        there = run("generate", "--prompt", "x", "--attention", "xrt:5", environment=card_environment())
        self.assertEqual(there.returncode, 2)
        self.assertIn("set TANDEM_CARDS=6", there.stderr)
        elsewhere = {**os.environ, "XILINX_XRT": "/nowhere"}
        missing = run("generate", "--prompt", "x", "--attention", "xrt:0", environment=elsewhere)
        self.assertEqual(missing.returncode, 2)
        self.assertIn("setup script", missing.stderr)

    def test_a_configuration_file_sets_options_and_the_command_line_wins(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
            config.write('attention = "cpu"\n[scheduling]\nmax-running = 3\n[kv]\nkv-memory = "1MiB"\n')
            config.flush()
            with Daemon("--config", config.name) as daemon:
                self.assertEqual(daemon.complete("Once", max_tokens=2)["usage"]["completion_tokens"], 2)
            misspelt = run("serve", "--modle", "x")
            self.assertEqual(misspelt.returncode, 2)
            self.assertIn("unknown option --modle (did you mean '--model'?)", misspelt.stderr)
            required = run("generate", "--promt", "x")
            self.assertEqual(required.returncode, 2)
            self.assertIn("unknown option --promt (did you mean '--prompt'?)", required.stderr)
            self.assertIn("unknown command 'genrate' (did you mean 'generate'?)",
                          run("genrate", "--prompt", "x").stderr)
            self.assertIn("unknown option --hlep (did you mean '--help'?); see `tandem --help`", run("--hlep").stderr)
            config.write("colour = 3\n")
            config.flush()
            process = run("serve", "--config", config.name)
            self.assertEqual(process.returncode, 2)
            self.assertIn("colour", process.stderr)
            self.assertIn(":6:", process.stderr)

    def test_devices_lists_cpu_opencl_and_cards(self):
        listing = run_json("devices", environment=card_environment())
        kinds = {device["kind"]: device for device in listing["devices"]}
        self.assertGreater(kinds["cpu"]["memory_bandwidth_bytes_per_s"], 0)
        self.assertGreater(kinds["xrt"]["memory_bytes"], 15 << 30)
        self.assertEqual(sum(device["kind"] == "xrt" for device in listing["devices"]), 2)


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

    def test_a_device_has_a_number(self):
        for text in ('attention = "xrt:q"', 'attention = "cpu,xrt:"', 'attention = "xrt:-1"', 'compute = "cuda:0x"'):
            self.assertIn("a number follows the ':'", self.check(text + "\n").stderr, text)
        for text in ('attention = "cuda:0+"', 'attention = "cuda:0+abacus:1,cpu"'):
            self.assertIn("no such kind of device", self.check(text + "\n").stderr, text)
        for text in ('attention = "xrt:0,xrt:1"', 'attention = "cuda:0+cuda:1,cpu"', 'compute = "cpu"'):
            self.assertEqual(self.check(text + "\n").returncode, 0, text)

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
        return subprocess.run([TANDEM, *arguments], capture_output=True, text=True, timeout=1200, preexec_fn=enter)

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
