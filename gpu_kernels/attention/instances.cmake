# SPDX-License-Identifier: Apache-2.0
# Writes the attention kernels' instances, each a source of its own so that they compile in parallel:
# decode_<type>.cu, decode_bulk_<type>.cu (the Hopper path) and prefill_<type>.cu, in the build folder.
# Sets attention_instances to their paths. Adding a type: a line here, and its case in decode.cu and prefill.cpp.
set(attention_instances "")
function(tandem_write_instance template file)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/attention/${file}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${template}.cu.in ${path} @ONLY)
  set(attention_instances ${attention_instances} ${path} PARENT_SCOPE)
endfunction()

foreach(type BF16 E4M3 F16 I8)
  string(TOLOWER ${type} name)
  set(header decode_kernel.cuh)
  set(function launch_decode)
  tandem_write_instance(decode_instance decode_${name})
  set(header decode_bulk.cuh)
  set(function launch_bulk_decode)
  tandem_write_instance(decode_instance decode_bulk_${name})
endforeach()

# Kernels of these types compute exactly, or with products of the stored type.
foreach(type BF16 F16)
  string(TOLOWER ${type} name)
  set(parameter ", bool exact")
  set(choice "!exact ? launch_prefill<${type}, false>(job, num_tiles, stream)\n                : ")
  tandem_write_instance(prefill_instance prefill_${name})
endforeach()
set(parameter "")
set(choice "")
foreach(instance "e4m3;E4M3" "f32;float" "i8;std::int8_t")
  list(GET instance 0 name)
  list(GET instance 1 type)
  tandem_write_instance(prefill_instance prefill_${name})
endforeach()
