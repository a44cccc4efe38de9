# SPDX-License-Identifier: Apache-2.0
# Projects, solutions and files as the Tcl commands of Vitis HLS name them (UG1399, "Project Commands"). Settings of synthesis
# are taken and have no effect; a command that is none of Vitis HLS is an error.
namespace eval tandem_hls {
  variable project {} solution {} top {}
  variable files {}   ;# normalised path -> {tb 0|1 flags TEXT folder OF_THE_FLAGS name AS_GIVEN}, in the order of add_files
}

proc tandem_hls::say {text} {
  puts $text
  flush stdout
}

# The words of a command: the named switches and options with a value, and the others. Options that are not named are an error.
proc tandem_hls::words {command switches valued arguments} {
  set options {}
  set others {}
  while {[llength $arguments] > 0} {
    set arguments [lassign $arguments word]
    if {![regexp {^-[a-zA-Z_]} $word]} {
      lappend others $word
    } elseif {[string range $word 1 end] in $switches} {
      dict set options [string range $word 1 end] 1
    } elseif {[string range $word 1 end] in $valued} {
      if {[llength $arguments] == 0} { error "$command: $word needs a value" }
      set arguments [lassign $arguments value]
      dict set options [string range $word 1 end] $value
    } else {
      error "$command: option '$word' is unknown; there are: [join [lmap each [concat $switches $valued] {string cat - $each}] {, }]"
    }
  }
  return [list $options $others]
}

proc tandem_hls::open_folder {command name reset} {
  if {$name eq ""} { error "$command: give a name" }
  if {$reset} { file delete -force -- $name }
  file mkdir $name
}

proc open_project {args} {
  lassign [tandem_hls::words open_project {reset upgrade} {} $args] options others
  tandem_hls::open_folder open_project [lindex $others 0] [dict exists $options reset]
  set tandem_hls::project [file normalize [lindex $others 0]]
  set tandem_hls::solution {}
  set tandem_hls::files {}
  tandem_hls::say "INFO: \[HLS 200-10\] Opening project '$tandem_hls::project'."
}

proc open_solution {args} {
  lassign [tandem_hls::words open_solution {reset} {flow_target} $args] options others
  if {$tandem_hls::project eq ""} { error "open_solution: open a project first (open_project)" }
  set name [file join $tandem_hls::project [lindex $others 0]]
  if {[llength $others] == 0} { error "open_solution: give a name" }
  tandem_hls::open_folder open_solution $name [dict exists $options reset]
  set tandem_hls::solution $name
}

# A component is a project and its solution in one.
proc open_component {args} {
  lassign [tandem_hls::words open_component {reset} {flow_target} $args] options others
  tandem_hls::open_folder open_component [lindex $others 0] [dict exists $options reset]
  set tandem_hls::project [file normalize [lindex $others 0]]
  set tandem_hls::solution [file join $tandem_hls::project hls]
  set tandem_hls::files {}
  file mkdir $tandem_hls::solution
}

proc close_project {args} {
  foreach name {project solution top files} { set tandem_hls::$name {} }
}
proc close_solution {args} { set tandem_hls::solution {} }
proc close_component {args} { close_project }

proc set_top {name} { set tandem_hls::top $name }

# A block of Verilog: C simulation runs the C function that its description names, with the files and flags given there.
proc tandem_hls::add_blackbox {path} {
  if {![file exists $path]} { error "add_files: there is no file '$path' in [pwd]" }
  set in [open $path]
  set text [read $in]
  close $in
  set sources 0
  foreach entry [regexp -all -inline {\{[^{}]*"c_file"[^{}]*\}} $text] {
    regexp {"c_file"\s*:\s*"([^"]*)"} $entry -> name
    set flags {}
    regexp {"cflag"\s*:\s*"([^"]*)"} $entry -> flags
    set source [file normalize [file join [file dirname $path] $name]]
    if {![file exists $source]} { error "add_files: $path names a file '$name' that is not there" }
    incr sources
    if {[dict exists $tandem_hls::files $source]} continue
    dict set tandem_hls::files $source \
      [dict create tb 0 flags $flags folder [file dirname [file normalize $path]] name $name]
  }
  if {$sources == 0} { error "add_files: $path names no C source (c_files), and Verilog is not simulated" }
}

# A file that is added again gets the new flags.
proc add_files {args} {
  lassign [tandem_hls::words add_files {tb} {cflags csimflags blackbox} $args] options others
  if {$tandem_hls::project eq ""} { error "add_files: open a project first (open_project)" }
  if {[dict exists $options blackbox]} { tandem_hls::add_blackbox [dict get $options blackbox] }
  set flags {}
  foreach name {cflags csimflags} {
    if {[dict exists $options $name]} { lappend flags [dict get $options $name] }
  }
  foreach list $others {
    foreach pattern $list {
      set names [list $pattern]
      if {[regexp {[*?]} $pattern]} { set names [lsort [glob -nocomplain -- $pattern]] }
      if {[llength $names] == 0} { error "add_files: no file matches '$pattern'" }
      foreach name $names {
        if {![file exists $name] && [tandem_hls::is_header $name]} {
          tandem_hls::say "WARNING: add_files: there is no header '$name' in [pwd]"
          continue
        }
        if {![file exists $name]} { error "add_files: there is no file '$name' in [pwd]" }
        dict set tandem_hls::files [file normalize $name] \
          [dict create tb [dict exists $options tb] flags [join $flags { }] folder [pwd] name $name]
      }
    }
  }
}
proc add_file {args} { add_files {*}$args }

proc get_top {} { return $tandem_hls::top }
proc get_project {args} {
  return [expr {"-directory" in $args ? $tandem_hls::project : [file tail $tandem_hls::project]}]
}
proc get_solution {args} {
  return [expr {"-directory" in $args ? $tandem_hls::solution : [file tail $tandem_hls::solution]}]
}
proc get_files {args} { return [dict keys $tandem_hls::files] }

proc csynth_design {args} {
  tandem_hls::say "WARNING: csynth_design: skipped; this tool simulates C and makes neither RTL nor a report of synthesis."
}
proc cosim_design {args} {
  tandem_hls::say "WARNING: cosim_design: skipped; there is no RTL to simulate. csim_design runs the same test bench on the C source."
}
proc export_design {args} {
  tandem_hls::say "WARNING: export_design: skipped; there is no RTL to export. v++ -c compiles the kernel for emulated cards."
}

# Settings of synthesis by name, and by the names of whole families.
foreach command {set_part create_clock set_clock_uncertainty set_part_info} {
  proc $command {args} {}
}
rename unknown tandem_hls::unknown_before
proc unknown {args} {
  if {[regexp {^((config|set_directive|delete_directive)_[a-z0-9_]+|(write|apply)_ini)$} [lindex $args 0]]} return
  tailcall tandem_hls::unknown_before {*}$args
}
