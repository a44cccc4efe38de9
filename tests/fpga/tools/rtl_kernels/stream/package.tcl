# SPDX-License-Identifier: Apache-2.0
# Packages `plus` with a kernel.xml.
create_project plus_project plus_project
add_files plus.v
set_property top plus [current_fileset]
ipx::package_project -root_dir packaged_plus -vendor example.com -library user -taxonomy /KernelIP -import_files
package_xo -force -xo_path plus.xo -kernel_name plus -ip_directory packaged_plus -kernel_xml kernel.xml
