# SPDX-License-Identifier: Apache-2.0
# Projects, solutions and files as the Tcl commands of Vitis HLS name them (UG1399, "Project Commands"). Settings of synthesis
# are taken and have no effect; a command that is none of Vitis HLS is an error.
namespace eval tandem_hls {
  variable project {} solution {} top {}
  variable clock_ns 10
  variable files {}   ;# normalised path -> {tb 0|1 flags TEXT folder OF_THE_FLAGS name AS_GIVEN}, in the order of add_files
}

# A project's files and top function are recorded in its folder: a later script that opens it without -reset has them.
# -reset forgets them and deletes nothing, because sources may lie in that folder.
proc tandem_hls::record_of {project} { return [file join $project tandem_hls.project] }

proc tandem_hls::save_project {} {
  if {$tandem_hls::project eq ""} return
  set out [open [record_of $tandem_hls::project] w]
  puts $out [list top $tandem_hls::top files $tandem_hls::files]
  close $out
}

proc tandem_hls::load_project {command name reset} {
  if {$name eq ""} { error "$command: give a name" }
  file mkdir $name
  foreach {variable value} [list project [file normalize $name] solution {} top {} files {} clock_ns 10] {
    set tandem_hls::$variable $value
  }
  set record [record_of $name]
  if {!$reset && [file exists $record]} {
    set in [open $record]
    set saved [read $in]
    close $in
    if {[catch {dict get $saved top} tandem_hls::top] || [catch {dict size [dict get $saved files]}]} {
      error "$command: the record '$record' is damaged; open the project with -reset"
    }
    dict for {path file} [dict get $saved files] {
      if {[file exists $path]} { dict set tandem_hls::files $path $file } else {
        tandem_tcl::say "WARNING: $command: a file of the project is missing: $path"
      }
    }
  }
  save_project
}

proc open_project {args} {
  lassign [tandem_tcl::words open_project {reset upgrade} {} $args] options others
  tandem_hls::load_project open_project [lindex $others 0] [dict exists $options reset]
  tandem_tcl::say "INFO: \[HLS 200-10\] Opening project '$tandem_hls::project'."
}

# A solution's folder has results only.
proc open_solution {args} {
  lassign [tandem_tcl::words open_solution {reset} {flow_target} $args] options others
  if {$tandem_hls::project eq ""} { error "open_solution: open a project first (open_project)" }
  if {[llength $others] == 0} { error "open_solution: give a name" }
  set name [file join $tandem_hls::project [lindex $others 0]]
  if {[dict exists $options reset]} { file delete -force -- [file join $name csim] [file join $name syn] }
  file mkdir $name
  set tandem_hls::solution $name
}

# A component is a project and its solution in one.
proc open_component {args} {
  lassign [tandem_tcl::words open_component {reset} {flow_target} $args] options others
  tandem_hls::load_project open_component [lindex $others 0] [dict exists $options reset]
  set tandem_hls::solution [file join $tandem_hls::project hls]
  if {[dict exists $options reset]} {
    file delete -force -- [file join $tandem_hls::solution csim] [file join $tandem_hls::solution syn]
  }
  file mkdir $tandem_hls::solution
}

# Only a folder with a record is deleted.
proc delete_project {name} {
  if {![file exists $name]} return
  if {![file exists [tandem_hls::record_of $name]]} {
    error "delete_project: '$name' is not a project of this tool; remove the folder yourself"
  }
  if {[string first "[file normalize $name]/" "[pwd]/"] == 0} {
    error "delete_project: the script runs in '$name'; remove the folder yourself"
  }
  if {[file normalize $name] eq $tandem_hls::project} { close_project }
  file delete -force -- $name
}
proc delete_solution {name} {
  set folder [file normalize [file join $tandem_hls::project $name]]
  if {$tandem_hls::project eq "" || [file dirname $folder] ne $tandem_hls::project} {
    error "delete_solution: '$name' is not a solution of an open project"
  }
  foreach path [get_files] {
    if {[string first $folder/ $path] == 0} {
      error "delete_solution: '$name' has files of the project, such as [file tail $path]; it is no folder of results"
    }
  }
  if {$folder eq $tandem_hls::solution} { close_solution }
  file delete -force -- $folder
}

proc close_project {args} {
  foreach name {project solution top files} { set tandem_hls::$name {} }
}
proc close_solution {args} { set tandem_hls::solution {} }
proc close_component {args} { close_project }

proc set_top {name} {
  set tandem_hls::top $name
  tandem_hls::save_project
}

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
  lassign [tandem_tcl::words add_files {tb} {cflags csimflags blackbox} $args] options others
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
          tandem_tcl::say "WARNING: add_files: there is no header '$name' in [pwd]"
          continue
        }
        if {![file exists $name]} { error "add_files: there is no file '$name' in [pwd]" }
        dict set tandem_hls::files [file normalize $name] \
          [dict create tb [dict exists $options tb] flags [join $flags { }] folder [pwd] name $name]
      }
    }
  }
  tandem_hls::save_project
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

# The report of the time model; also in PROJECT/SOLUTION/syn/report/TOP_csynth.rpt. No RTL is made.
proc csynth_design {args} {
  if {$tandem_hls::solution eq "" || $tandem_hls::top eq ""} {
    error "csynth_design: open a solution first (open_solution), and name the function (set_top)"
  }
  set report [tandem_hls::model_report]
  if {$report eq ""} {
    tandem_tcl::say "WARNING: csynth_design: there is no report of the time model: no source that clang compiles defines '$tandem_hls::top'."
    return
  }
  set folder [file join $tandem_hls::solution syn report]
  file mkdir $folder
  set out [open [file join $folder ${tandem_hls::top}_csynth.rpt] w]
  puts $out $report
  close $out
  tandem_tcl::say $report
}

# The report of the first source that defines the top function; empty if none does.
proc tandem_hls::model_report {} {
  variable tree
  set folders [split [variable_or TANDEM_HLS_INCLUDE [file join $tree vitis include]] :]
  dict for {path file} $tandem_hls::files {
    if {![is_source $path] || [dict get $file tb]} continue
    set flags "[expr {[is_c $path] ? {-x c} : {-std=gnu++17}}] -D__VITIS_HLS__ -D__SYNTHESIS__ [join [lmap each $folders {string cat -I [quoted $each]}]]\
      -I[quoted [file dirname $path]] [dict get $file flags]"
    set line "cd [quoted [dict get $file folder]] && [quoted [file join $tree bin v++]] --csynth-report\
      [quoted $tandem_hls::top] $tandem_hls::clock_ns [quoted $path] $flags"
    if {![catch {exec bash -c $line} text]} { return $text }
    if {[lindex $::errorCode 0] ne "CHILDSTATUS" || [lindex $::errorCode 2] != 3} {
      tandem_tcl::say "WARNING: csynth_design: [file tail $path]: $text"
    }
  }
  return {}
}
proc cosim_design {args} {
  tandem_tcl::say "WARNING: cosim_design: skipped; there is no RTL to simulate. csim_design runs the same test bench on the C source."
}
proc export_design {args} {
  tandem_tcl::say "WARNING: export_design: skipped; there is no RTL to export. v++ -c compiles the kernel for emulated cards."
}

# Settings of synthesis by name, and by the names of whole families.
foreach command {set_part set_clock_uncertainty set_part_info} {
  proc $command {args} {}
}

# -period takes nanoseconds, also as "5ns", or a frequency as "200MHz".
proc create_clock {args} {
  set at [lsearch -exact $args -period]
  if {$at < 0} return
  set period [lindex $args [expr {$at + 1}]]
  set value [regsub -nocase {\s*(ns|mhz)$} $period {}]
  if {![string is double -strict $value] || $value <= 0} {
    tandem_tcl::say "WARNING: create_clock: '$period' is neither nanoseconds nor MHz; the clock stays at $tandem_hls::clock_ns ns"
    return
  }
  set tandem_hls::clock_ns [expr {[regexp -nocase {mhz$} $period] ? 1000.0 / $value : $value}]
}
rename unknown tandem_hls::unknown_before
proc unknown {args} {
  if {[regexp {^((config|set_directive|delete_directive)_[a-z0-9_]+|(write|apply)_ini)$} [lindex $args 0]]} return
  tailcall tandem_hls::unknown_before {*}$args
}
