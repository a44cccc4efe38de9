# SPDX-License-Identifier: Apache-2.0
open_project -reset proj
add_files top.cpp
add_files -tb top_test.cpp
add_files -blackbox model/scale.json
set_top top
open_solution -reset solution1 -flow_target vivado
csim_design
exit
