# SPDX-License-Identifier: Apache-2.0
# run_script.tcl SCRIPT [ARGUMENT...]: the user's script with the commands of Vitis HLS. It ends with 1 when a command fails.
set tandem_hls_script [lindex $argv 0]
set argv [lrange $argv 1 end]
set argc [llength $argv]
set argv0 $tandem_hls_script
foreach part {../tcl/commands project csim} {
  source [file join [file dirname [file normalize [info script]]] $part.tcl]
}
if {[catch {source $tandem_hls_script} message options]} {
  puts stderr "ERROR: \[HLS 200-1023\] [dict get $options -errorinfo]"
  exit 1
}
exit 0
