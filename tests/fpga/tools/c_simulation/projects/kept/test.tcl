# SPDX-License-Identifier: Apache-2.0
# Adds the test bench to the project of make.tcl.
open_project proj
add_files -tb {proj/kept_test.cpp in.dat}
