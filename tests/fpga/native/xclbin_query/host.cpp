// SPDX-License-Identifier: Apache-2.0
//
// Exercises: xrt::xclbin from a file, from bytes and from axlf; its kernels, compute units,
// arguments, memories, sections and uuid; load_xclbin() from each of them.
#include <experimental/xrt_xclbin.h>
#include <xclbin.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <fstream>
#include <iterator>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void describe(const xrt::xclbin& xclbin) {
  CHECK(xclbin.get_xsa_name().find("u55c") != std::string::npos);
  CHECK(xclbin.get_target_type() == xrt::xclbin::target_type::sw_emu);
  CHECK_EQ(xclbin.get_kernels().size(), 1u);
  const auto kernel = xclbin.get_kernel("scale");
  CHECK_EQ(kernel.get_name(), std::string("scale"));
  CHECK_EQ(kernel.get_num_args(), 5u);
  CHECK_EQ(kernel.get_cus().size(), 2u);
  CHECK_EQ(kernel.get_cus("scale:{right}").size(), 1u);
  CHECK(!xclbin.get_kernel("no_such_kernel"));

  const char* const names[] = {"in", "out", "factor", "offset", "size"};
  const uint64_t sizes[] = {8, 8, 4, 4, 4};
  uint64_t offset = 0;
  for (int i = 0; i < 5; ++i) {
    const auto argument = kernel.get_arg(i);
    CHECK_EQ(argument.get_name(), std::string(names[i]));
    CHECK_EQ(argument.get_index(), static_cast<size_t>(i));
    CHECK_EQ(argument.get_size(), sizes[i]);
    CHECK(argument.get_offset() > offset);
    offset = argument.get_offset();
  }
  CHECK(kernel.get_arg(0).get_host_type().find("float") != std::string::npos);
}

void describe_unit(const xrt::xclbin& xclbin) {
  const auto right = xclbin.get_ip("scale:right");
  CHECK(right.get_control_type() == xrt::xclbin::ip::control_type::hs ||
        right.get_control_type() == xrt::xclbin::ip::control_type::chain);
  CHECK(right.get_size() >= 0x1000u);
  CHECK_EQ(right.get_base_address() % 0x1000, 0u);
  const auto banks = right.get_arg(1).get_mems();
  CHECK_EQ(banks.size(), 1u);
  CHECK_EQ(banks.at(0).get_tag(), std::string("HBM[7]"));
  CHECK_EQ(banks.at(0).get_size_kb(), 512u * 1024u);
  CHECK(banks.at(0).get_used());

  size_t num_used = 0;
  for (const auto& memory : xclbin.get_mems()) num_used += memory.get_used() ? 1 : 0;
  CHECK(num_used >= 4);
  CHECK(xclbin.get_axlf_section<const ip_layout*>(IP_LAYOUT)->m_count == 2);
  CHECK(xclbin.get_axlf_section<const mem_topology*>(MEM_TOPOLOGY)->m_count >= 32);
}

void run(xrt::device& device, const xrt::uuid& uuid) {
  xrt::kernel scale(device, uuid, "scale:{right}");
  xrt::bo in(device, 4096, scale.group_id(0));
  xrt::bo out(device, 4096, scale.group_id(1));
  in.map<float*>()[3] = 4;
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  scale(in, out, 1.5F, 0.25F, 4u).wait();
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(out.map<float*>()[3], 6.25F);
}

void query(const Arguments& arguments) {
  const xrt::xclbin from_file(arguments.xclbin);
  const auto bytes = bytes_of(arguments.xclbin);
  const xrt::xclbin from_bytes(bytes);
  const xrt::xclbin from_axlf(reinterpret_cast<const axlf*>(bytes.data()));
  for (const auto& xclbin : {from_file, from_bytes, from_axlf}) {
    describe(xclbin);
    describe_unit(xclbin);
    CHECK(xclbin.get_uuid() == from_file.get_uuid());
  }
  {
    xrt::device device(0);
    run(device, device.load_xclbin(from_bytes));
    CHECK(device.get_xclbin_uuid() == from_bytes.get_uuid());
  }
  xrt::device device(0);
  run(device, device.load_xclbin(from_axlf.get_axlf()));
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, query); }
