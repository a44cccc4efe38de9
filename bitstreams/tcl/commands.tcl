# SPDX-License-Identifier: Apache-2.0
# What the Tcl front ends of C simulation and of RTL packaging have in common: messages and the words of a command.
namespace eval tandem_tcl {}

proc tandem_tcl::say {text} {
  puts $text
  flush stdout
}

# The words of a command: the named switches and options with a value, and the others. Options that are not named are an error.
proc tandem_tcl::words {command switches valued arguments} {
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
