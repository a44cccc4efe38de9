# SPDX-License-Identifier: Apache-2.0
# Describes the kernel to the IP packager: files, buses, registers.
set path_to_packaged "./packaged_kernel_${suffix}"
create_project -force kernel_pack "./tmp_kernel_pack_${suffix}"
add_files -norecurse [glob ./hdl/*.v ./hdl/*.sv]
update_compile_order -fileset sources_1
ipx::package_project -root_dir $path_to_packaged -vendor example.com -library RTLKernel -taxonomy /KernelIP -import_files -set_current false
ipx::unload_core $path_to_packaged/component.xml
ipx::edit_ip_in_project -upgrade true -name tmp_edit_project -directory $path_to_packaged $path_to_packaged/component.xml
set core [ipx::current_core]
set_property core_revision 2 $core
foreach up [ipx::get_user_parameters] { ipx::remove_user_parameter [get_property NAME $up] $core }
ipx::associate_bus_interfaces -busif m_axi_gmem -clock ap_clk $core
ipx::associate_bus_interfaces -busif s_axi_control -clock ap_clk $core
set addr_block [::ipx::add_address_block -quiet "reg0" [::ipx::add_memory_map -quiet "s_axi_control" $core]]
set reg [::ipx::add_register "CTRL" $addr_block]
set_property address_offset 0x000 $reg
set_property size 32 $reg
set field [ipx::add_field AP_START $reg]
set_property ACCESS {read-write} $field
foreach {name offset} {a 0x010 b 0x01C out 0x028} {
  set reg [::ipx::add_register -quiet $name $addr_block]
  set_property address_offset $offset $reg
  set_property size [expr {8*8}] $reg
  set regparam [::ipx::add_register_parameter -quiet {ASSOCIATED_BUSIF} $reg]
  set_property value m_axi_gmem $regparam
}
foreach {name offset} {length 0x034 sum 0x038 mistake 0x03C} {
  set reg [::ipx::add_register -quiet $name $addr_block]
  set_property address_offset $offset $reg
  set_property size [expr {4*8}] $reg
}
set_property slave_memory_map_ref "s_axi_control" [::ipx::get_bus_interfaces -of $core "s_axi_control"]
set_property xpm_libraries {XPM_CDC XPM_MEMORY XPM_FIFO} $core
set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity -kernel $core
ipx::save_core $core
close_project -delete
