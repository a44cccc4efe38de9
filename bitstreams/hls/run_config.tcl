# SPDX-License-Identifier: Apache-2.0
# run_config.tcl csim|kernel CONFIG WORK_DIR: an HLS component from its configuration file (UG1399, "HLS Config File
# Commands"). `csim` runs its C simulation; `kernel` compiles its top function with v++ for emulated cards, to
# WORK_DIR/TOP.xo. Paths are those seen from the configuration. Settings of synthesis are taken and have no effect.
lassign $argv step config work
set here [file dirname [file normalize [info script]]]
foreach part {../tcl/commands project csim} { source [file join $here $part.tcl] }

# key -> list of values; keys of the section hls have no prefix.
proc read_config {path} {
  set values {}
  set section {}
  set number 0
  set in [open $path]
  foreach line [split [read $in] \n] {
    incr number
    set line [string trim $line]
    if {$line eq "" || [string index $line 0] eq "#"} continue
    if {[regexp {^\[(.*)\]$} $line -> section]} {
      if {$section eq "hls"} { set section {} }
    } elseif {[regexp {^([^=\s]+)\s*=\s*(.*)$} $line -> key value]} {
      dict lappend values [expr {$section eq "" ? $key : "$section.$key"}] $value
    } else {
      error "$path:$number: expected KEY=VALUE or a section in brackets: '$line'"
    }
  }
  close $in
  return $values
}

proc all_of {values key} { return [expr {[dict exists $values $key] ? [dict get $values $key] : {}}] }
proc last_of {values key default} { return [expr {[dict exists $values $key] ? [lindex [dict get $values $key] end] : $default}] }
proc is_on {values key} { return [expr {[last_of $values $key 0] in {1 true yes on}}] }

# Flags of one file: KEY.file_cflags=FILE,FLAGS.
proc flags_of {values kind file} {
  set flags [all_of $values $kind.cflags]
  foreach each [all_of $values $kind.file_cflags] {
    if {[regexp {^([^,]+),(.*)$} $each -> name more] && $name eq $file} { lappend flags $more }
  }
  foreach each [all_of $values $kind.csimflags] { lappend flags $each }
  return [join $flags { }]
}

proc add_blackboxes {values} {
  foreach file [all_of $values syn.blackbox.file] { add_files -blackbox $file }
}

proc run_csim {values} {
  foreach {kind tb} {syn {} tb -tb} {
    foreach file [all_of $values $kind.file] { add_files {*}$tb -cflags [flags_of $values $kind $file] [list $file] }
  }
  add_blackboxes $values
  set options [list -argv [last_of $values csim.argv {}] -ldflags [join [all_of $values csim.ldflags]]]
  foreach switch {O clean setup sanitize_address sanitize_undefined} {
    if {[is_on $values csim.$switch]} { lappend options -$switch }
  }
  csim_design {*}$options
}

proc run_kernel {values work top} {
  if {[last_of $values flow_target vivado] ne "vitis" && [last_of $values package.output.format ""] ne "xo"} {
    tandem_tcl::say "WARNING: the component is not for Vitis (flow_target=vitis or package.output.format=xo), and there is no\
      synthesis here: nothing is made. vitis-run --mode hls --csim runs its C simulation."
    return
  }
  set object [file join $work [file tail [last_of $values package.output.file $top.xo]]]
  set sources {}
  foreach file [all_of $values syn.file] {
    if {[tandem_hls::is_source $file]} { lappend sources [tandem_hls::quoted $file] }
  }
  set flags [all_of $values syn.cflags]
  foreach each [all_of $values syn.file_cflags] {
    if {[llength $sources] > 1} { error "syn.file_cflags: flags of one file among several are not supported; use syn.cflags" }
    lappend flags [regsub {^[^,]*,} $each {}]
  }
  add_blackboxes $values
  dict for {source properties} $tandem_hls::files {  # the C functions of Verilog; their flags are those of all sources
    lappend sources [tandem_hls::quoted $source]
    lappend flags [dict get $properties flags]
  }
  set line "[tandem_hls::quoted [file join $tandem_hls::tree bin v++]] -c -t hw_emu -k [tandem_hls::quoted $top]\
    --temp_dir [tandem_hls::quoted [file join $work temp]] -o [tandem_hls::quoted $object] [join $flags] [join $sources]"
  if {[tandem_hls::shell [pwd] $line] != 0} { error "the kernel '$top' does not compile" }
  tandem_tcl::say "INFO: $object is the kernel for emulated cards; there is no report of synthesis."
}

proc run_component {step config work} {
  set values [read_config $config]
  set top [last_of $values syn.top {}]
  foreach key {syn.top syn.file} {
    if {[llength [all_of $values $key]] == 0} { error "$config: $key is missing" }
  }
  if {$work eq ""} { set work [file join [file dirname $config] [file rootname [file tail $config]]] }
  set work [file normalize $work]
  cd [file dirname $config]
  open_component -reset $work  ;# the configuration names all files
  set_top $top
  if {$step eq "csim"} { run_csim $values } else { run_kernel $values $work $top }
}

if {[catch {run_component $step [file normalize $config] $work} message]} {
  puts stderr "ERROR: $message"
  exit 1
}
exit 0
