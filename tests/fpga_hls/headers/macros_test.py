# SPDX-License-Identifier: Apache-2.0
#
# macros_test.py COMPILER INCLUDE_FOLDER: kernels define N, T, SIZE and the like in front of the HLS headers; these must
# neither stumble over such macros nor take them away.
import re
import subprocess
import sys
import tempfile
from pathlib import Path

STANDARD = ("algorithm array atomic cassert chrono cmath complex condition_variable cstdint cstdio cstdlib cstring deque "
            "functional iomanip iostream limits memory mutex queue sstream stdexcept string thread tuple utility vector").split()


def main():
    compiler, folder = sys.argv[1], Path(sys.argv[2])
    names = re.findall(r'push_macro\("(\w+)"\)', (folder / "tandem_macros_begin.h").read_text())
    assert {"N", "T", "SIZE", "value"} <= set(names) and len(names) == len(set(names))
    given_back = re.findall(r'pop_macro\("(\w+)"\)', (folder / "tandem_macros_end.h").read_text())
    assert sorted(given_back) == sorted(names), "what is put aside is given back"
    headers = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.h"))
               if not path.name.startswith("tandem_macros") and "#error" not in path.read_text()]
    # Standard headers stand before the macros, as in programs that compile at all.
    lines = [f"#include <{name}>" for name in STANDARD]
    lines += [f"#define {name} 16" for name in names]
    lines += [f'#include "{name}"' for name in headers]
    lines += [f"#if {name} != 16\n#error {name} is lost\n#endif" for name in names]
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "kernel.cpp"
        source.write_text("\n".join(lines) + "\n")
        command = [compiler, "-std=gnu++14", "-fsyntax-only", f"-I{folder}", str(source)]
        return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
