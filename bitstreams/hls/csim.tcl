# SPDX-License-Identifier: Apache-2.0
# csim_design: compiles sources and test bench with the system's compiler and Tandem's HLS headers, and runs them in
# PROJECT/SOLUTION/csim/build. Files of the test bench are copied there, its folders linked. What the program prints also goes
# to csim/report/TOP_csim.log. A program that does not end with 0 makes the command fail.
namespace eval tandem_hls {
  variable tree [file dirname [file dirname [file dirname [file normalize [info script]]]]]
}

proc tandem_hls::variable_or {name default} {
  return [expr {[info exists ::env($name)] && $::env($name) ne "" ? $::env($name) : $default}]
}

# A word of a shell's command line.
proc tandem_hls::quoted {word} { return '[string map {' '\\''} $word]' }

proc tandem_hls::is_c {path} { return [expr {[file extension $path] eq ".c"}] }
proc tandem_hls::is_source {path} {
  return [expr {[string tolower [file extension $path]] in {.c .cc .cpp .cxx .c++}}]
}
proc tandem_hls::is_header {path} {
  return [expr {[string tolower [file extension $path]] in {.h .hh .hpp .hxx .tcl}}]
}

# Runs a line of bash in a folder; its output is this process' own. Returns its exit code.
proc tandem_hls::shell {folder line} {
  flush stdout
  set code [catch {exec bash -c "cd [quoted $folder] && { $line\n}" <@stdin >@stdout 2>@stderr} message options]
  if {$code == 0} { return 0 }
  set error [dict get $options -errorcode]
  if {[lindex $error 0] eq "CHILDSTATUS"} { return [lindex $error 2] }
  return 128
}

# Test benches open a file that was given with its folder by either name.
proc tandem_hls::place_below {build path name} {
  set folder [file dirname $name]
  if {$folder eq "." || [file pathtype $name] ne "relative" || ".." in [file split $name]} return
  set to $build
  foreach part [file split $folder] {
    set to [file join $to $part]
    if {![catch {file readlink $to}]} return
    file mkdir $to
  }
  file copy -force -- $path $to
}

proc tandem_hls::place_data {build} {
  dict for {path file} $tandem_hls::files {
    if {[is_source $path] || ![dict get $file tb]} continue
    set to [file join $build [file tail $path]]
    file delete -force -- $to
    if {[file isdirectory $path]} {
      file link -symbolic $to $path
    } elseif {![is_header $path]} {
      file copy -- $path $to
      place_below $build $path [dict get $file name]
    }
  }
}

# Compiles all sources; the object files.
proc tandem_hls::compile {build optimisation} {
  variable tree
  set folders [split [variable_or TANDEM_HLS_INCLUDE [file join $tree vitis include]] :]
  set includes [join [lmap each $folders {string cat -I [quoted $each]}]]
  set objects {}
  set number 0
  file mkdir [file join $build obj]
  dict for {path file} $tandem_hls::files {
    if {![is_source $path]} continue
    set object [file join $build obj [incr number]_[file tail $path].o]
    set compiler [expr {[is_c $path] ? [variable_or TANDEM_CC cc] : "[variable_or TANDEM_CXX c++] -std=gnu++17"}]
    tandem_tcl::say "   Compiling $path"
    set line "$compiler $optimisation -g -w -D__VITIS_HLS__ -D__HLS_CSIM__ -DAESL_TB $includes\
      -I[quoted [file dirname $path]] [dict get $file flags] -c -o [quoted $object] [quoted $path]"
    if {[shell [dict get $file folder] $line] != 0} { error "csim_design: $path does not compile" }
    lappend objects $object
  }
  if {[llength $objects] == 0} { error "csim_design: there is no source; add one with add_files" }
  return $objects
}

proc csim_design {args} {
  lassign [tandem_tcl::words csim_design \
    {O clean setup profile code_analyzer sanitize_address sanitize_undefined disable_deadlock_detection} \
    {argv ldflags mflags compiler} $args] options others
  if {$tandem_hls::solution eq ""} { error "csim_design: open a solution first (open_solution)" }
  set value [dict merge {argv {} ldflags {}} $options]
  set csim [file join $tandem_hls::solution csim]
  set build [file join $csim build]
  set report [file join $csim report]
  if {[dict exists $options clean]} { file delete -force -- $build }
  file mkdir $build $report
  set optimisation [expr {[dict exists $options O] ? "-O2" : "-O1"}]
  foreach kind {address undefined} {
    if {[dict exists $options sanitize_$kind]} { append optimisation " -fsanitize=$kind -fno-sanitize-recover=all" }
  }
  tandem_tcl::say "INFO: \[SIM 211-2\] *************** CSIM start ***************"
  tandem_hls::place_data $build
  set objects [tandem_hls::compile $build $optimisation]
  set link "[tandem_hls::variable_or TANDEM_CXX c++] $optimisation -o [tandem_hls::quoted [file join $build csim.exe]] [join [lmap each $objects {tandem_hls::quoted $each}]]\
    [dict get $value ldflags] -pthread"
  # Libraries are named from the folder of the script, as flags of files are.
  if {[tandem_hls::shell [pwd] $link] != 0} {
    error "csim_design: the program does not link; -ldflags adds libraries"
  }
  if {[dict exists $options setup]} return
  set log [tandem_hls::quoted [file join $report [expr {$tandem_hls::top eq "" ? "csim" : "${tandem_hls::top}_csim"}].log]]
  set code [tandem_hls::shell $build "set -o pipefail; ./csim.exe [dict get $value argv] 2>&1 | tee $log"]
  if {$code != 0} {
    tandem_tcl::say "ERROR: \[SIM 211-100\] CSim failed with errors."
    error "csim_design: the test bench ended with $code, not with 0"
  }
  tandem_tcl::say "INFO: \[SIM 211-1\] CSim done with 0 errors."
  tandem_tcl::say "INFO: \[SIM 211-3\] *************** CSIM finish ***************"
}
