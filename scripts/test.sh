#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what the tests need, builds everything and runs it. One failure is one bug: no test runs twice.
#
#   scripts/test.sh                all tests of the release build
#   scripts/test.sh --quick        for daily work: the unit tests that neither interpret GPU kernels nor are slow, and the lint
#   scripts/test.sh --sanitizers   all tests, then what the sanitizers of addresses, undefined behaviour and threads run
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

mode=all
case "${1:-}" in
  --quick) mode=quick ;;
  --sanitizers) mode=sanitizers ;;
  "") ;;
  *) sed -n '3,9p' "$0"; exit 2 ;;
esac

install_packages "${tandem_packages[@]}" "${test_packages[@]}"
pip=
if ! cmp -s tests/requirements.txt build/venv/requirements.txt; then
  say "installing Python packages of the tests into build/venv, beside the build"
  mkdir -p build
  rm -rf build/venv
  /usr/bin/python3 -m venv build/venv
  build/venv/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt &
  pip=$!
  # A script that ends before leaves no pip behind, which would write into the folder of the next call.
  trap 'if [ -n "$pip" ]; then kill "$pip" 2>/dev/null || true; fi' EXIT
  # A tree configured before has recorded another Python.
  if [ -f build/release/build.ninja ]; then cmake --preset release >/dev/null; fi
fi

# run_tests PRESET [ctest's options...]
run_tests() {
  if [ -n "$pip" ]; then
    wait "$pip"
    pip=
    cp tests/requirements.txt build/venv/requirements.txt
  fi
  say "testing $*"
  # Four more than processors: the long tests compute in a third of their time and wait in the rest.
  local results="$PWD/build/$1/test-results.xml" failed=0
  ctest --preset "$1" -j "$(($(nproc) + 4))" --output-junit "$results" "${@:2}" || failed=$?
  [ $failed -eq 0 ] || python3 scripts/failures.py "$results"
  return $failed
}

case $mode in
  quick)
    build release tandem_quick_tests
    run_tests release -L '^(unit|lint)$' -LE '^(interpreted|slow|mpi|system|fpga|cuda)$'
    ;;
  *)
    build release
    run_tests release
    ;;
esac

if [ $mode = sanitizers ]; then
  build asan tandem_unit_tests tandem_concurrent_tests
  run_tests asan
  build tsan tandem_concurrent_tests
  run_tests tsan
fi
say "done after $((SECONDS / 60)) minutes"
