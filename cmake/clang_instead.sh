#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A compiler launcher for single targets: clang_instead.sh CLANG COMPILER ARGUMENT... runs CLANG with the arguments.
clang=$1
shift 2
exec "$clang" "$@"
