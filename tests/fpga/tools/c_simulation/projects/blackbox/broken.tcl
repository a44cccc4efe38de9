# SPDX-License-Identifier: Apache-2.0
open_project -reset proj
add_files top.cpp -blackbox [lindex $argv 0]
