# SPDX-License-Identifier: Apache-2.0
# delete.tcl FOLDER [SOLUTION]
if {$argc > 1} {
  open_project [lindex $argv 0]
  delete_solution [lindex $argv 1]
} else {
  delete_project [lindex $argv 0]
}
