#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# keep_messages.sh COMPILER ARGUMENT...: runs nvcc and keeps what it says on standard error in a file beside the object,
# OBJECT.messages. It shows all of it but the lines of "ptxas info".
object=
for ((i = 1; i < $#; ++i)); do
  if [ "${!i}" = -o ]; then
    next=$((i + 1))
    object=${!next}
  fi
done
[ -n "$object" ] || exec "$@"
"$@" 2>"$object.messages"
status=$?
grep -v '^ptxas info' "$object.messages" >&2
exit $status
