#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what the tests need, builds everything and runs it.
#
#   scripts/test.sh                all tests of the release build; see run_tests about unsteady ones
#   scripts/test.sh --sanitizers   besides, the unit tests under address+undefined and thread sanitizers
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

sanitizers=false
case "${1:-}" in
  --sanitizers) sanitizers=true ;;
  "") ;;
  *) sed -n '3,7p' "$0"; exit 2 ;;
esac

install_packages "${tandem_packages[@]}" python3-venv clang-format redis-server g++-aarch64-linux-gnu qemu-user
if ! cmp -s tests/requirements.txt build/venv/requirements.txt; then
  say "installing Python packages of the tests into build/venv"
  mkdir -p build
  rm -rf build/venv
  /usr/bin/python3 -m venv build/venv
  build/venv/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
  cp tests/requirements.txt build/venv/requirements.txt
  # A tree configured before has recorded another Python.
  if [ -f build/release/build.ninja ]; then cmake --preset release >/dev/null; fi
fi

# run_tests PRESET: a test that fails among others gets a second run, alone: the exit code tells whether it passes at
# all, and what passed only then is named in build/PRESET/unsteady_tests.txt and at the end: each of these is a bug.
run_tests() {
  local preset=$1 unsteady=build/$1/unsteady_tests.txt failed=build/$1/Testing/Temporary/LastTestsFailed.log
  say "testing $preset"
  rm -f "$unsteady" "$failed"
  ctest --preset "$preset" -j "$(nproc)" && return 0
  [ -s "$failed" ] || return 1
  cp "$failed" "$unsteady"
  say "once more, alone: $(wc -l <"$unsteady") failed"
  ctest --preset "$preset" --rerun-failed || return 1
  say "UNSTEADY, passed alone only:"
  cat "$unsteady"
}

build release
run_tests release

if $sanitizers; then
  for kind in asan tsan; do
    build "$kind" tandem_unit_tests
    say "testing $kind"
    ctest --preset "$kind" -j "$(nproc)"  # what a sanitizer finds once is found
  done
fi
