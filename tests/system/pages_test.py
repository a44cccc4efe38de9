# SPDX-License-Identifier: Apache-2.0
#
# What the pages say of the `tandem` command exists: subcommands, options, keys of the configuration file. Lines of its log that
# they show have the form that it writes.
import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("TANDEM_BINARY_DIR", ROOT / "build/release")) / "bin/tandem"
PAGES = ("README.md", "host/apps/README.md")
ANY = ""  # of which subcommand an option is: not said

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"\btandem ([a-z][a-z-]*)(.*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\S+", re.MULTILINE)
KEY = re.compile(r"^([a-z][a-z0-9-]*) *=", re.MULTILINE)


def all_pages():
    """Those of the source tree. Build trees are not looked into: other tests make and remove files there meanwhile."""
    yield from ROOT.glob("*.md")
    for folder in ROOT.iterdir():
        if folder.is_dir() and not folder.name.startswith((".", "build")):
            yield from folder.rglob("*.md")


def claims(page):
    """(subcommand or ANY, option or None) for everything that the page says exists."""
    for language, block in FENCE.findall(page):
        if language == "toml":
            yield from (("serve", "--" + key) for key in KEY.findall(block))
        else:
            yield from claims_of_commands(block.replace("\\\n", " "))
    for span in SPAN.findall(FENCE.sub("", page)):
        yield from claims_of_commands(span)
        if span.startswith("--"):
            yield from ((ANY, option) for option in OPTION.findall(span))


def claims_of_commands(text):
    for line in text.splitlines():
        command = COMMAND.search(re.sub(r"\s#\s.*", "", line))
        if command:
            yield command[1], None
            yield from ((command[1], option) for option in OPTION.findall(command[2]))


def help_of(*subcommand):
    process = subprocess.run([PROGRAM, *subcommand, "--help"], capture_output=True, text=True, timeout=1200)
    return process.stdout if process.returncode == 0 else None


class ClaimsTest(unittest.TestCase):
    def test_finds_commands_options_and_keys(self):
        page = ("`tandem bench --json` and `--port` of `scripts/demo.sh --once`\n```sh\nnet -- tandem serve \\\n  --host x  # --none\n"
                "```\n```toml\n[kv]\nkv-dtype = 1\n```\n")
        self.assertEqual(set(claims(page)), {("bench", None), ("bench", "--json"), (ANY, "--port"), ("serve", None),
                                             ("serve", "--host"), ("serve", "--kv-dtype")})


@unittest.skipUnless(PROGRAM.exists(), f"{PROGRAM} is not built")
class PagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = {ANY, *re.findall(r"^  ([a-z][a-z-]*) ", help_of(), re.MULTILINE)}
        cls.options = {name: set(OPTION.findall(text)) for name in cls.names if name and (text := help_of(name))}
        for second in ("run", "storm"):  # options stand behind the second word
            cls.options["card"] |= set(OPTION.findall(help_of("card", second)))
        cls.options[ANY] = set().union(*cls.options.values())

    def test_the_help_lists_subcommands_with_options(self):
        self.assertIn("--port", self.options["serve"])

    def test_what_the_pages_name_exists(self):
        for page in PAGES:
            found = list(claims((ROOT / page).read_text(encoding="utf-8")))
            self.assertGreater(len(found), 10, page)
            for subcommand, option in found:
                with self.subTest(page=page, subcommand=subcommand, option=option):
                    self.assertTrue(subcommand in self.names, f"`tandem --help` has no {subcommand}")
                    if subcommand not in self.options:
                        self.skipTest(f"the program behind `tandem {subcommand}` is not built")
                    if option:
                        self.assertTrue(option in self.options[subcommand], f"`tandem {subcommand} --help` has no {option}")

    def test_log_lines_have_the_form_that_the_program_writes(self):
        process = subprocess.run([PROGRAM, "generate", "--attention", "cpu", "--prompt", "a", "--max-tokens", "1"],
                                 capture_output=True, text=True, timeout=1200, env={**os.environ, "TZ": "UTC"})
        written = TIME.search(process.stderr)
        self.assertIsNotNone(written, process.stderr)
        form = re.sub(r"\d", r"\\d", re.escape(written[0]))
        shown = [(page, time) for page in all_pages() for time in TIME.findall(page.read_text(encoding="utf-8"))]
        self.assertGreater(len(shown), 3)
        self.assertEqual([each for each in shown if not re.fullmatch(form, each[1])], [])


if __name__ == "__main__":
    unittest.main()
