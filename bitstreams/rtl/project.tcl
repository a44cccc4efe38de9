# SPDX-License-Identifier: Apache-2.0
# Projects, files and properties as the Tcl commands of Vivado name them (UG835), as far as packaging needs them. A command of
# Vivado that is not here is an error that says so.
namespace eval tandem_rtl {
  variable files {}       ;# of the open project, in the order of add_files
  variable project {}     ;# folder
  variable top {}         ;# module; empty: the kernel's name
  variable properties {}  ;# object -> {property value}; names of properties are in lower case
  variable ips {}         ;# module -> file of its model
}

# As tandem_tcl::words; every command of Vivado takes -quiet and -verbose too.
proc tandem_rtl::words {command switches valued arguments} {
  return [tandem_tcl::words $command [concat $switches quiet verbose] $valued $arguments]
}

proc create_project {args} {
  lassign [tandem_rtl::words create_project {force in_memory} {part ip} $args] options others
  set name [lindex $others 0]
  set folder [expr {[llength $others] > 1 ? [lindex $others 1] : $name}]
  if {$folder eq "" && ![dict exists $options in_memory]} { error "create_project: give a name" }
  foreach {variable value} [list files {} project $folder top {} properties {} ips {}] {
    set tandem_rtl::$variable $value
  }
  if {$folder ne ""} { file mkdir $folder }
  return $name
}

# The folder of a project has nothing but what this program put there: generated models of cores.
proc close_project {args} {
  lassign [tandem_rtl::words close_project {delete} {} $args] options
  set folder $tandem_rtl::project
  if {[dict exists $options delete] && $folder ne ""} {
    file delete -force [file join $folder tandem_ips]
    catch { file delete $folder }
  }
  set tandem_rtl::project {}
}

proc add_files {args} {
  lassign [tandem_rtl::words add_files {norecurse force} {fileset scan_for_includes} $args] options others
  set added {}
  foreach path [concat {*}$others] {
    if {[file isdirectory $path]} {
      lappend added {*}[tandem_rtl::sources_below $path]
    } elseif {[file isfile $path]} {
      lappend added [file normalize $path]
    } else {
      error "add_files: no such file: $path"
    }
  }
  if {[dict exists $options fileset] && [string match {sim_*} [dict get $options fileset]]} { return $added }
  if {[dict exists $options fileset] && [string match {constr*} [dict get $options fileset]]} { return $added }
  foreach path $added {
    if {$path ni $tandem_rtl::files} { lappend tandem_rtl::files $path }
  }
  return $added
}
proc import_files {args} { return [add_files {*}$args] }
proc read_verilog {args} {
  lassign [tandem_rtl::words read_verilog {sv} {library} $args] options others
  return [add_files {*}$others]
}

# Files of hardware languages, in a stable order.
proc tandem_rtl::sources_below {folder} {
  set found {}
  foreach path [lsort [glob -nocomplain -directory $folder *]] {
    if {[file isdirectory $path]} {
      lappend found {*}[sources_below $path]
    } elseif {[is_source $path]} {
      lappend found [file normalize $path]
    }
  }
  return $found
}
proc tandem_rtl::is_source {path} {
  return [expr {[string tolower [file extension $path]] in {.v .sv .vh .svh .vhd .vhdl .mem .hex}}]
}

proc update_compile_order {args} {}
proc set_msg_config {args} {}
proc set_param {args} {}

# Objects are texts: their names, as in Vivado.
proc current_fileset {args} { return sources_1 }
proc get_filesets {args} { return [lindex $args end] }
proc current_project {args} { return [file tail $tandem_rtl::project] }
proc get_files {args} { return [lindex $args end] }
proc get_ips {args} { return [lindex $args end] }

proc set_property {args} {
  if {[lindex $args 0] eq "-dict"} {
    lassign $args dash pairs object
  } elseif {[lindex $args 0] eq "-name"} {  ;# -name NAME -value VALUE -objects OBJECT
    set pairs [list [dict get $args -name] [dict get $args -value]]
    set object [dict get $args -objects]
  } else {
    lassign $args name value object
    set pairs [list $name $value]
  }
  foreach {name value} $pairs {
    set name [string tolower $name]
    if {$name eq "top"} { set tandem_rtl::top $value }
    dict set tandem_rtl::properties $object $name $value
  }
  tandem_rtl::configure_ip $object
}
proc get_property {args} {
  lassign [tandem_rtl::words get_property {} {} $args] options others
  lassign $others name object
  set name [string tolower $name]
  if {[dict exists $tandem_rtl::properties $object $name]} {
    return [dict get $tandem_rtl::properties $object $name]
  }
  return [expr {$name eq "name" ? $object : ""}]
}

# Cores of the vendor have no source. A logic analyser only listens, so an empty module stands for it.
proc create_ip {args} {
  lassign [tandem_rtl::words create_ip {force} {name vendor library version module_name dir} $args] options
  set core [dict get $options name]
  set module [dict get $options module_name]
  if {$core ne "ila"} {
    error "create_ip: '$core' is a core of Vivado's, which has no source here; write the module '$module' in Verilog and add it with add_files"
  }
  dict set tandem_rtl::ips $module [file join $tandem_rtl::project tandem_ips $module.v]
  tandem_rtl::configure_ip $module
  return $module
}
proc tandem_rtl::configure_ip {module} {
  variable ips
  variable files
  if {![dict exists $ips $module]} return
  set count [ip_setting $module c_num_of_probes 1]
  set ports {input wire clk}
  for {set probe 0} {$probe < $count} {incr probe} {
    lappend ports "input wire \[[ip_setting $module c_probe${probe}_width 1]-1:0\] probe$probe"
  }
  set path [dict get $ips $module]
  file mkdir [file dirname $path]
  set out [open $path w]
  puts $out "module $module ([join $ports {, }]);\nendmodule"
  close $out
  if {[file normalize $path] ni $files} { lappend files [file normalize $path] }
}
proc tandem_rtl::ip_setting {module name default} {
  variable properties
  if {[dict exists $properties $module config.$name]} { return [dict get $properties $module config.$name] }
  return $default
}
proc generate_target {args} {}
proc export_ip_user_files {args} {}

# The switches of Vivado's own `source`.
rename source tandem_rtl::tcl_source
proc source {args} {
  lassign [tandem_rtl::words source {notrace} {encoding} $args] options others
  uplevel 1 [list tandem_rtl::tcl_source {*}$others]
}

rename unknown tandem_rtl::tcl_unknown
proc unknown {args} {
  set command [lindex $args 0]
  if {$command eq ""} return  ;# `[exec ...]` as a command, when it prints nothing
  if {[auto_load $command]} { return [uplevel 1 $args] }
  error "'$command' is no command that this vivado knows: it packages RTL kernels (create_project, add_files, ipx::..., package_xo), and neither simulates nor synthesises"
}
