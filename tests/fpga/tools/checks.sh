# SPDX-License-Identifier: Apache-2.0
# Sourced by the cases: short words for what a user expects of a command. Every failure names its line and ends the case.

fail() {
  local frame=0
  while [[ $frame -lt ${#BASH_SOURCE[@]} && ${BASH_SOURCE[frame + 1]-} != */case.sh ]]; do frame=$((frame + 1)); done
  echo "FAILED at line ${BASH_LINENO[frame]-?}: $*" >&2
  exit 1
}

# expect TEXT COMMAND...: the command succeeds and prints TEXT (anywhere, on either stream).
expect() {
  local text=$1 output
  shift
  output=$("$@" 2>&1) || fail "'$*' failed: $output"
  [[ $output == *"$text"* ]] || fail "'$*' did not print '$text' but: $output"
}

# refuse TEXT COMMAND...: the command fails of itself (no signal) with one message that holds TEXT.
refuse() {
  local text=$1 output code=0
  shift
  output=$("$@" 2>&1) || code=$?
  [ "$code" -ne 0 ] || fail "'$*' succeeded: $output"
  [ "$code" -lt 126 ] || fail "'$*' ended with $code: $output"
  [[ $output == *"$text"* ]] || fail "'$*' did not say '$text' but: $output"
  [ "$(grep -cE '(^|[^A-Z])ERROR' <<<"$output")" -eq 1 ] || fail "'$*' gave not one message but: $output"
}

# same A B: two texts are equal.
same() { [ "$1" = "$2" ] || fail "'$1' is not '$2'"; }
