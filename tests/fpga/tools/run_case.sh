#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run_case.sh TREE CASE [ARGUMENT...]: runs CASE/case.sh as a user would who has sourced TREE/setup.sh, in a folder of its
# own with a blank in its name that is removed afterwards. Variables of the tester's shell do not reach the case.
set -eu
tree=$1
case_dir=$(cd "$2" && pwd)
shift 2
work=$(mktemp -d "${TMPDIR:-/tmp}/tandem tools.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
env -i HOME="$HOME" PATH="$PATH" USER="${USER:-tester}" TMPDIR="$work" CCACHE_DISABLE=1 \
  ASAN_OPTIONS="${ASAN_OPTIONS:-}" CASE_DIR="$case_dir" TOOLS_DIR="$(dirname "$case_dir")" \
  bash -c '. "$1/setup.sh"; . "$TOOLS_DIR/checks.sh"; shift; set -eu; . "$CASE_DIR/case.sh"' case.sh "$tree" "$@"
