# SPDX-License-Identifier: Apache-2.0
"""Which sources tidy.py looks at: what changed lately, which source shows a header, and what a source reads."""

import functools
import hashlib
import pathlib
import re
import subprocess

WINDOW_S = 24 * 3600
# Without libtorch's sources: clang 14 does not compile the headers of libtorch 1.13 as C++20.
PRODUCT = re.compile(r"^(host/(?!training/trainer/torch/)|drivers/|bitstreams/).*\.cpp$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
INCLUDE_ROOTS = ("host", "drivers", "fpga_hls", "")


def recent_changes(root):
    """Files that the working tree and the commits of a day before HEAD changed, the latest first; None without git."""
    def git(*words):
        listed = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)
        return listed.stdout.split("\n") if listed.returncode == 0 else None

    head = git("log", "-1", "--format=%ct")
    if head is None:
        return None
    changed = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    changed += git("log", f"--since={int(head[0]) - WINDOW_S}", "--name-only", "--format=", "HEAD")
    return [name for name in dict.fromkeys(changed) if name]


class Sources:
    """The product's sources that a build compiles. `commands`: of tidy.compile_commands()."""

    def __init__(self, root, commands):
        self.root = pathlib.Path(root)
        self.paths = sorted(path for path in commands if PRODUCT.match(path))
        self.arguments = {path: commands[path][1] for path in self.paths}

    @functools.cache
    def includes(self, path):
        """The files of the tree that `path` names."""
        found = []
        for name in INCLUDE.findall((self.root / path).read_text(errors="replace")):
            for folder in (pathlib.PurePath(path).parent.as_posix(), *INCLUDE_ROOTS):
                candidate = (pathlib.PurePath(folder) / name).as_posix()
                if (self.root / candidate).is_file():
                    found.append(candidate)
                    break
        return found

    @functools.cache
    def reads(self, path):
        """`path` and every file of the tree that it includes, at any depth."""
        seen, waiting = {path}, [path]
        while waiting:
            for name in self.includes(waiting.pop()):
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return frozenset(seen)

    def digest(self, path):
        """Of all that decides what clang-tidy says of `path`, but for files outside the tree."""
        hashed = hashlib.sha256(repr(self.arguments[path]).encode())
        for name in (".clang-tidy", *sorted(self.reads(path))):
            hashed.update(name.encode() + b"\0" + (self.root / name).read_bytes() + b"\0")
        return hashed.hexdigest()

    def that_show(self, changed):
        """The sources among `changed`, and for each header the source of its name, or one that is chosen already, or any."""
        chosen = {}
        for path in changed:
            if path in self.arguments:
                chosen[path] = True
            elif path.endswith(".h") and (self.root / path).is_file():
                own = path[:-2] + ".cpp"
                readers = [own] if own in self.arguments else [source for source in chosen if path in self.reads(source)]
                readers = readers or [source for source in self.paths if path in self.reads(source)]
                chosen.update({source: True for source in readers[:1]})
        return list(chosen)
