# SPDX-License-Identifier: Apache-2.0
# gen_xo.tcl XO KERNEL TARGET PLATFORM DEVICE: packages the kernel, as the scripts of public RTL projects do.
if { $::argc != 5 } {
  puts "ERROR: $::argv0 needs 5 arguments"
  exit 1
}
lassign $::argv xoname krnl_name target xpfm_path device
set suffix "${krnl_name}_${target}_${device}"
source -notrace ./scripts/package_kernel.tcl
if {[file exists "${xoname}"]} { file delete -force "${xoname}" }
package_xo -xo_path ${xoname} -kernel_name vadd -ip_directory ./packaged_kernel_${suffix}
