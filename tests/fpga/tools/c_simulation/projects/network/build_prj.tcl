# SPDX-License-Identifier: Apache-2.0
# The shape of a generated project of a neural network: settings of the command line, a sourced file, folders of data,
# a step for each setting, and commands that not every version has.
source [file join [file dirname [info script]] project.tcl]

# "csim=1 synth=0" in one word or in many.
array set wanted {reset 0 csim 1 synth 1 cosim 0 export 0}
foreach pair [split [join $::argv]] {
  if {[regexp {^(\w+)=(\d)$} $pair -> key value] && [info exists wanted($key)]} { set wanted($key) $value }
}
set fresh [expr {$wanted(reset) ? "-reset" : ""}]

# Runs `body` and says how long it took.
proc step {name body} {
  puts "begin of $name"
  set began [clock milliseconds]
  uplevel 1 $body
  puts [format "end of %s after %d s" $name [expr {([clock milliseconds] - $began) / 1000}]]
}

file mkdir tb_data
open_project {*}$fresh ${project_name}_prj
set_top $project_name
add_files firmware/$project_name.cpp -cflags "-std=c++0x"
add_files -tb ${project_name}_test.cpp -cflags "-std=c++0x -DOFFSET=1"
add_files -tb [list firmware/weights tb_data]
open_solution {*}$fresh "solution1"
catch {config_array_partition -maximum_size 1024}
config_compile -name_max_length 64
set_part {xcu250-figd2104-2L-e}
config_schedule -enable_dsp_full_reg=false
create_clock -period 4 -name default
set_clock_uncertainty 15% default
if {$wanted(csim)} { step simulation csim_design }
if {$wanted(synth)} { step synthesis csynth_design }
if {$wanted(cosim)} { step co-simulation {cosim_design -trace_level all -setup} }
if {$wanted(export)} { step export {export_design -format ip_catalog} }
exit 0
