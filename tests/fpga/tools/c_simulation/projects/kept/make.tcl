# SPDX-License-Identifier: Apache-2.0
# The shape of a course's script: it makes a project, whose folder has the sources, and simulates nothing.
open_project -reset proj
add_files proj/kept.cpp -cflags "-DFACTOR=6"
open_solution -reset "solution1"
set_top kept
