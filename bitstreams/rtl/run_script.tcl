# SPDX-License-Identifier: Apache-2.0
# run_script.tcl COUNT SCRIPT... [ARGUMENT...]: the user's scripts with the packaging commands of Vivado. It ends with 1 when a
# command fails.
set tandem_rtl_count [lindex $argv 0]
set tandem_rtl_scripts [lrange $argv 1 $tandem_rtl_count]
set argv [lrange $argv [expr {1 + $tandem_rtl_count}] end]
set argc [llength $argv]
foreach part {../tcl/commands project core package_xo} {
  source [file join [file dirname [file normalize [info script]]] $part.tcl]
}
foreach tandem_rtl_script $tandem_rtl_scripts {
  set argv0 $tandem_rtl_script
  if {[catch {source $tandem_rtl_script} message options]} {
    puts stderr "ERROR: \[Common 17-39\] [dict get $options -errorinfo]"
    exit 1
  }
}
exit 0
