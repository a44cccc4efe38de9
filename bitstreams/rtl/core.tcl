# SPDX-License-Identifier: Apache-2.0
# The IP packager (UG1118): a core has files and registers. ipx::save_core writes them as component.xml, which package_xo reads;
# what describes the core for a catalogue has no effect.
namespace eval ipx {}
namespace eval tandem_rtl {
  variable core {}        ;# file of the current core's component.xml; the cores are named by it
  variable cores {}       ;# file -> {registers {id...} maps {name...} files {path...} top NAME}
  variable num_objects 0
}

proc ipx::package_project {args} {
  lassign [tandem_rtl::words ipx::package_project {import_files force generated_files} \
    {root_dir vendor library taxonomy set_current name version module import_files} $args] options
  if {![dict exists $options root_dir]} { error "ipx::package_project: give -root_dir" }
  set root [dict get $options root_dir]
  if {[llength $tandem_rtl::files] == 0} { error "ipx::package_project: the project has no files; call add_files first" }
  file mkdir [file join $root src]
  set copies {}
  foreach path $tandem_rtl::files {
    if {![tandem_rtl::is_source $path]} continue
    set place [file join $root src [file tail $path]]
    if {$place in $copies} { set place [file join $root src [llength $copies] [file tail $path]] }
    file mkdir [file dirname $place]
    if {[file normalize $place] ne [file normalize $path]} { file copy -force $path $place }
    lappend copies $place
  }
  set core [file join $root component.xml]
  dict set tandem_rtl::cores [file normalize $core] [dict create registers {} files $copies top $tandem_rtl::top]
  set tandem_rtl::core [file normalize $core]
  ipx::save_core $tandem_rtl::core
  return $tandem_rtl::core
}

proc ipx::current_core {args} {
  if {[llength $args] > 0} { set tandem_rtl::core [file normalize [lindex $args 0]] }
  if {$tandem_rtl::core eq ""} { error "ipx::current_core: no core is open; call ipx::package_project first" }
  return $tandem_rtl::core
}
proc ipx::open_core {args} { return [ipx::current_core [lindex $args end]] }
proc ipx::find_open_core {args} { return $tandem_rtl::core }
proc ipx::edit_ip_in_project {args} {
  set path [file normalize [lindex $args end]]
  if {![dict exists $tandem_rtl::cores $path]} { error "ipx::edit_ip_in_project: no such core: $path" }
  set tandem_rtl::core $path
}
proc ipx::unload_core {args} {}

# Registers are the arguments of the kernel. Maps, blocks and fields only lead to them.
proc tandem_rtl::new_object {kind name} {
  variable num_objects
  return "$kind[incr num_objects]:$name"
}
proc ipx::add_memory_map {args} {
  lassign [tandem_rtl::words ipx::add_memory_map {} {} $args] options others
  return [tandem_rtl::new_object map [lindex $others 0]]
}
proc ipx::add_address_block {args} {
  lassign [tandem_rtl::words ipx::add_address_block {} {} $args] options others
  return [tandem_rtl::new_object block [lindex $others 0]]
}
proc ipx::add_register {args} {
  lassign [tandem_rtl::words ipx::add_register {} {} $args] options others
  set register [tandem_rtl::new_object register [lindex $others 0]]
  dict set tandem_rtl::properties $register name [lindex $others 0]
  set core [ipx::current_core]
  dict update tandem_rtl::cores $core known { dict lappend known registers $register }
  return $register
}
proc ipx::add_register_parameter {args} {
  lassign [tandem_rtl::words ipx::add_register_parameter {} {} $args] options others
  lassign $others name register
  set parameter [tandem_rtl::new_object parameter $name]
  dict set tandem_rtl::properties $register parameter:[string tolower $name] $parameter
  return $parameter
}
proc ipx::add_field {args} {
  lassign [tandem_rtl::words ipx::add_field {} {} $args] options others
  return [tandem_rtl::new_object field [lindex $others 0]]
}
proc ipx::get_registers {args} {
  lassign [tandem_rtl::words ipx::get_registers {} {of of_objects filter} $args] options others
  set all [dict get $tandem_rtl::cores [ipx::current_core] registers]
  if {[llength $others] == 0} { return $all }
  return [lmap each $all {
    if {![string match [lindex $others 0] [get_property name $each]]} continue
    set each
  }]
}

# The ports of a kernel are known by their names when it is linked, so these have no effect.
foreach name {associate_bus_interfaces infer_bus_interface add_bus_parameter get_bus_parameters create_xgui_files update_checksums
              check_integrity archive_core update_source_project_archive remove_user_parameter add_bus_interface
              associate_bus_interfaces merge_project_changes remove_bus_interface infer_bus_interfaces move_temp_component_back} {
  proc ipx::$name {args} {}
}
proc ipx::get_user_parameters {args} { return {} }
proc ipx::get_bus_interfaces {args} { return [lindex $args end] }
proc ipx::get_memory_maps {args} { return [lindex $args 0] }
proc ipx::get_address_blocks {args} { return [lindex $args 0] }
proc ipx::get_ports {args} { return [lindex $args 0] }

proc tandem_rtl::xml {text} { return [string map {& &amp; < &lt; > &gt; \" &quot;} $text] }

proc ipx::save_core {args} {
  set path [ipx::current_core]
  set core [dict get $tandem_rtl::cores $path]
  set out [open $path w]
  puts $out "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
  puts $out "<spirit:component xmlns:spirit=\"http://www.spiritconsortium.org/XMLSchema/SPIRIT/1685-2009\">"
  puts $out "  <spirit:memoryMaps><spirit:memoryMap><spirit:name>s_axi_control</spirit:name><spirit:addressBlock>"
  foreach register [dict get $core registers] { puts $out [tandem_rtl::register_xml $register] }
  puts $out "  </spirit:addressBlock></spirit:memoryMap></spirit:memoryMaps>"
  if {[dict get $core top] ne ""} {
    puts $out "  <spirit:model><spirit:views><spirit:view><spirit:modelName>[tandem_rtl::xml [dict get $core top]]</spirit:modelName></spirit:view></spirit:views></spirit:model>"
  }
  puts $out "</spirit:component>"
  close $out
}
proc tandem_rtl::register_xml {register} {
  set size [get_property size $register]
  set text "    <spirit:register><spirit:name>[xml [get_property name $register]]</spirit:name>"
  append text "<spirit:addressOffset>[xml [get_property address_offset $register]]</spirit:addressOffset>"
  append text "<spirit:size>[expr {$size eq {} ? 32 : $size}]</spirit:size>"
  set parameter [get_property parameter:associated_busif $register]
  if {$parameter ne ""} {
    append text "<spirit:parameters><spirit:parameter><spirit:name>ASSOCIATED_BUSIF</spirit:name>"
    append text "<spirit:value>[xml [get_property value $parameter]]</spirit:value></spirit:parameter></spirit:parameters>"
  }
  return "$text</spirit:register>"
}
