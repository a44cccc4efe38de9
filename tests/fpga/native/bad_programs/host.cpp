// SPDX-License-Identifier: Apache-2.0
//
// Exercises: mistakes of programs - xclbins that are truncated, foreign, damaged or absent;
// kernels, units, arguments and uuids that do not exist; buffers of another device. Each is an
// exception, and the device still works.
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

std::string write_file(const std::string& name, const std::vector<char>& bytes) {
  std::ofstream(name, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return name;
}

void bad_xclbins(xrt::device& device, const std::string& good) {
  std::ifstream file(good, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  CHECK_THROWS(device.load_xclbin("no_such_file.xclbin"));
  CHECK_THROWS(device.load_xclbin(write_file("text.xclbin", std::vector<char>(5000, 'x'))));
  for (const size_t parts : {2, 3, 10, 100}) {
    std::vector<char> part(bytes.begin(), bytes.begin() + static_cast<long>(bytes.size() / parts));
    // The bytes behind a truncated file in memory must not complete it.
    CHECK_THROWS(device.load_xclbin(write_file("truncated.xclbin", part)));
  }
  // A bitstream for real hardware has no kernels for this card.
  std::vector<char> foreign = bytes;
  auto* top = reinterpret_cast<axlf*>(foreign.data());
  for (uint32_t i = 0; i < top->m_header.m_numSections; ++i) {
    const axlf_section_header& section = top->m_sections[i];
    if (section.m_sectionKind == BITSTREAM) foreign[section.m_sectionOffset] ^= 0x55;
  }
  top->m_header.uuid[0] ^= 1;  // else it counts as loaded already
  CHECK_THROWS(device.load_xclbin(write_file("foreign.xclbin", foreign)));
}

void bad_names(xrt::device& device, const xrt::uuid& uuid) {
  CHECK_THROWS(xrt::kernel(device, uuid, "no_such_kernel"));
  CHECK_THROWS(xrt::kernel(device, uuid, "store:{no_such_unit}"));
  CHECK_THROWS(xrt::kernel(device, xrt::uuid("00000000-0000-0000-0000-000000000001"), "store"));
  xrt::kernel store(device, uuid, "store");
  CHECK_THROWS(store.group_id(2));
  CHECK_THROWS(store.offset(2));
  xrt::run run(store);
  CHECK_THROWS(run.set_arg("no_such_argument", 1));
  CHECK_THROWS(run.set_arg(2, 1));
  CHECK_THROWS(run.abort());
}

void bad_buffers(xrt::device& device, const xrt::uuid& uuid) {
  xrt::kernel store(device, uuid, "store");
  xrt::bo out(device, 4096, store.group_id(1));
  CHECK_THROWS(out.sync(XCL_BO_SYNC_BO_TO_DEVICE, 4096, 1));
  char byte = 0;
  CHECK_THROWS(out.write(&byte, 1, 4096));
  CHECK_THROWS(out.read(&byte, 1, 4096));
  CHECK_THROWS(xrt::bo(out, 4096, 4096));
  CHECK_THROWS(xrt::bo(device, static_cast<xclBufferExportHandle>(9999)));
  CHECK_THROWS(xrt::bo(device, size_t{1} << 50, store.group_id(1)));
}

void works(xrt::device& device, const xrt::uuid& uuid) {
  xrt::kernel store(device, uuid, "store");
  xrt::bo out(device, 4096, store.group_id(1));
  CHECK_EQ(store(4242u, out).wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(out.map<uint32_t*>()[0], 4242u);
}

void mistakes(const Arguments& arguments) {
  xrt::device device(0);
  bad_xclbins(device, arguments.xclbin);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  works(device, uuid);
  bad_names(device, uuid);
  bad_buffers(device, uuid);
  works(device, uuid);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, mistakes); }
