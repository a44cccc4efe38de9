# SPDX-License-Identifier: Apache-2.0
# package_xo (UG835): makes a kernel object of an IP folder: its component.xml and all files of hardware languages in it. Format:
# bitstreams/compiler/rtl/rtl_archive.h.
proc package_xo {args} {
  lassign [tandem_rtl::words package_xo {force debug} \
    {xo_path kernel_name ip_directory kernel_xml ctrl_protocol kernel_files kernel_xml_args kernel_xml_pipes kernel_xml_connections
     output_kernel_xml design_xml parent_ip_directory} $args] options
  foreach needed {xo_path kernel_name ip_directory} {
    if {![dict exists $options $needed]} { error "package_xo: give -$needed" }
  }
  foreach foreign {kernel_xml_args kernel_xml_pipes kernel_xml_connections} {
    if {[dict exists $options $foreign]} { error "package_xo: -$foreign does not work here; describe the kernel in a file and give -kernel_xml" }
  }
  set folder [dict get $options ip_directory]
  set component [file join $folder component.xml]
  if {![file isfile $component]} { error "package_xo: $folder has no component.xml; package the IP first (ipx::package_project)" }
  if {[dict exists $options kernel_xml] && ![file isfile [dict get $options kernel_xml]]} {
    error "package_xo: no such file: [dict get $options kernel_xml]"
  }
  set xo [dict get $options xo_path]
  if {[file exists $xo] && ![dict exists $options force]} { error "package_xo: $xo exists; delete it, or give -force" }
  set sources [tandem_rtl::sources_below $folder]
  if {[llength $sources] == 0} { error "package_xo: $folder has no Verilog" }
  set out [open $xo.part wb]
  puts -nonewline $out "tandem-rtl-kernel 1\n"
  tandem_rtl::add_entry $out kernel "" [encoding convertto utf-8 [dict get $options kernel_name]]
  if {[dict exists $options ctrl_protocol]} {
    tandem_rtl::add_entry $out protocol "" [dict get $options ctrl_protocol]
  }
  tandem_rtl::add_entry $out component "" [tandem_rtl::bytes_of $component]
  if {[dict exists $options kernel_xml]} {
    tandem_rtl::add_entry $out kernel_xml "" [tandem_rtl::bytes_of [dict get $options kernel_xml]]
  }
  foreach path $sources { tandem_rtl::add_entry $out source $path [tandem_rtl::bytes_of $path] }
  close $out
  file rename -force $xo.part $xo
  tandem_tcl::say "INFO: package_xo: $xo has kernel '[dict get $options kernel_name]' from [llength $sources] files"
}

proc tandem_rtl::add_entry {out kind name bytes} {
  puts -nonewline $out [encoding convertto utf-8 "$kind [string length $bytes] $name\n"]
  puts -nonewline $out $bytes
  puts -nonewline $out "\n"
}
proc tandem_rtl::bytes_of {path} {
  set in [open $path rb]
  set bytes [read $in]
  close $in
  return $bytes
}
