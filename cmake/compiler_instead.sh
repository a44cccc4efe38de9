#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A compiler launcher for single targets: compiler_instead.sh OTHER COMPILER ARGUMENT... runs OTHER with the arguments.
other=$1
shift 2
exec "$other" "$@"
