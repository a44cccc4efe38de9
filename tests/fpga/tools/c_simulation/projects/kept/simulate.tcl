# SPDX-License-Identifier: Apache-2.0
# Opens the project of make.tcl.
open_project proj
open_solution "solution1"
puts "top is [get_top]"
csim_design
