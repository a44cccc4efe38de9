# SPDX-License-Identifier: Apache-2.0
# The shape of an introductory example: all files, settings, and steps by a variable.
set steps {simulate synthesise verify}
open_project -reset proj_sums
set_top sums
add_files sums.cpp
add_files -tb "sums_test.cpp result.golden.dat data/first.dat"
open_solution -reset solution1 -flow_target vitis
set_part  {xcvu9p-flga2104-2-i}
create_clock -period "200MHz"
config_interface -m_axi_latency 64
set_directive_pipeline -II 1 "sums/loop_of_sums"
foreach step $steps {
	switch $step {
		simulate {csim_design}
		synthesise {csynth_design}
		verify {cosim_design -trace_level all}
		default {export_design -format ip_catalog}
	}
}
exit
