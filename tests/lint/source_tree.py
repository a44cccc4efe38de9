# SPDX-License-Identifier: Apache-2.0
"""The files that the lint looks at, and what it reports.

Files come from git (tracked, and untracked ones that are not ignored); where git is absent, from a
walk that leaves out hidden folders and build trees.
"""

import os
import pathlib
import subprocess
from dataclasses import dataclass

C_FAMILY = {".h", ".hpp", ".cpp", ".cc", ".c", ".cu", ".cuh", ".cl"}
HEADERS = {".h", ".hpp", ".cuh"}


class Skipped(Exception):
    """The check cannot run here; the message says why."""


@dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    message: str
    is_warning: bool = False


class SourceTree:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = sorted(f for f in self._list() if (self.root / f).is_file())

    def _list(self):
        try:
            listed = subprocess.run(
                ["git", "-C", str(self.root), "ls-files", "-z", "--cached", "--others",
                 "--exclude-standard"],
                capture_output=True, check=True)
            return set(listed.stdout.decode().split("\0")) - {""}
        except (OSError, subprocess.CalledProcessError):
            return set(self._walk())

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if not f.startswith((".", "build", "__"))]
            for name in names:
                yield (pathlib.Path(folder) / name).relative_to(self.root).as_posix()

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def with_suffix(self, suffixes):
        return [f for f in self.files if pathlib.PurePosixPath(f).suffix in suffixes]
