// SPDX-License-Identifier: Apache-2.0
//
// Exercises: xclbins that end early, or whose sizes, offsets, counts and indices are wrong, through
// every call that takes an xclbin. Each is an exception with a text, or an error code of the C API.
// No signal ends the program, and the device works afterwards.
//
// The heap holds freed copies of the whole file, so a read beyond a truncated one often finds valid
// data.
#include <experimental/xrt_xclbin.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xclbin.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

using Bytes = std::vector<char>;

constexpr size_t kBodyStride = 61;

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string write_file(const std::string& name, const Bytes& bytes) {
  std::ofstream(name, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return name;
}

// A copy of `bytes` that ends where the next page cannot be read.
class GuardedCopy {
 public:
  explicit GuardedCopy(const Bytes& bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t readable = (bytes.size() + page - 1) / page * page;
    size_ = readable + page;
    begin_ = static_cast<char*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(begin_ + readable, page, PROT_NONE);
    file_ = begin_ + readable - bytes.size();
    std::memcpy(file_, bytes.data(), bytes.size());
  }
  ~GuardedCopy() { munmap(begin_, size_); }
  GuardedCopy(const GuardedCopy&) = delete;
  GuardedCopy& operator=(const GuardedCopy&) = delete;
  const axlf* top() const { return reinterpret_cast<const axlf*>(file_); }

 private:
  char* begin_ = nullptr;
  char* file_ = nullptr;
  size_t size_ = 0;
};

// Leaves freed blocks with the bytes of the whole file where the next allocations lie.
void fill_heap(const Bytes& whole) {
  std::vector<Bytes> copies(3, whole);
  for (size_t size = 512; size < whole.size(); size *= 2) {
    copies.emplace_back(whole.end() - static_cast<std::ptrdiff_t>(size), whole.end());
  }
}

// An exception that says something.
template <typename Call>
bool refused(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return std::strlen(error.what()) > 0;
  }
  return false;
}

// `bytes` as a file and in memory, through every constructor and load of an xrt::xclbin.
void check_refused(xrt::device& device, const Bytes& bytes, const std::string& what) {
  const std::string path = write_file("damaged.xclbin", bytes);
  const GuardedCopy copy(bytes);
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"xclbin(path)", [&] { xrt::xclbin xclbin(path); }},
      {"xclbin(bytes)", [&] { xrt::xclbin xclbin(bytes); }},
      {"xclbin(axlf*)", [&] { xrt::xclbin xclbin(copy.top()); }},
      {"load_xclbin(path)", [&] { device.load_xclbin(path); }},
      {"load_xclbin(axlf*)", [&] { device.load_xclbin(copy.top()); }},
  };
  for (const auto& [name, call] : calls) {
    if (!refused(call)) report_failure(__FILE__, __LINE__, name + (" takes " + what));
  }
}

// The same through the C API.
void check_refused_in_c(xrtDeviceHandle device, const Bytes& bytes) {
  const std::string path = write_file("damaged.xclbin", bytes);
  const GuardedCopy copy(bytes);
  CHECK(xrtXclbinAllocFilename(path.c_str()) == nullptr);
  CHECK(xrtXclbinAllocRawData(bytes.data(), static_cast<int>(bytes.size())) == nullptr);
  CHECK(xrtDeviceLoadXclbinFile(device, path.c_str()) != 0);
  CHECK(xrtDeviceLoadXclbin(device, copy.top()) != 0);
}

size_t end_of_tables(const Bytes& whole) {
  const auto* top = reinterpret_cast<const axlf*>(whole.data());
  return offsetof(axlf, m_sections) + top->m_header.m_numSections * sizeof(axlf_section_header);
}

Bytes first_bytes(const Bytes& whole, size_t size) {
  return {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)};
}

void truncations(xrt::device& device, const Bytes& whole) {
  const size_t tables = end_of_tables(whole);
  for (size_t size = 0; size < whole.size(); size += size < tables ? 1 : kBodyStride) {
    fill_heap(whole);
    check_refused(device, first_bytes(whole, size), std::to_string(size) + " bytes");
  }
  check_refused(device, first_bytes(whole, whole.size() - 1), "all bytes but one");
  // The constructors, with every length.
  const std::string path = write_file("shrinking.xclbin", whole);
  Bytes bytes = whole;
  for (size_t size = whole.size(); size-- > 0;) {
    std::filesystem::resize_file(path, size);
    bytes.resize(size);
    if (!refused([&] { xrt::xclbin xclbin(path); }) ||
        !refused([&] { xrt::xclbin xclbin(bytes); })) {
      report_failure(__FILE__, __LINE__, std::to_string(size) + " bytes are taken");
    }
  }
}

void truncations_in_c(const Bytes& whole) {
  const xrtDeviceHandle device = xrtDeviceOpen(0);
  const size_t tables = end_of_tables(whole);
  for (size_t size = 0; size < whole.size(); size += size < tables ? 37 : 997) {
    fill_heap(whole);
    check_refused_in_c(device, first_bytes(whole, size));
  }
  CHECK(xrtXclbinAllocFilename(nullptr) == nullptr);
  CHECK(xrtXclbinAllocRawData(nullptr, 100) == nullptr);
  CHECK(xrtXclbinAllocRawData(whole.data(), -1) == nullptr);
  CHECK(xrtDeviceLoadXclbinFile(device, ".") != 0);
  CHECK_EQ(xrtDeviceClose(device), 0);
}

template <typename Field>
Bytes with(Bytes bytes, size_t at, Field value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  return bytes;
}

void wrong_header(xrt::device& device, const Bytes& whole) {
  const size_t header = offsetof(axlf, m_header);
  const size_t length_at = header + offsetof(axlf_header, m_length);
  for (const uint64_t length : {uint64_t{0}, uint64_t{100}, uint64_t{sizeof(axlf) - 100},
                                uint64_t{whole.size() + 1}, uint64_t{1} << 40, ~uint64_t{0}}) {
    check_refused(device, with(whole, length_at, length), "length " + std::to_string(length));
  }
  for (const uint32_t count : {10000u, 0x7fffffffu, 0xffffffffu}) {
    check_refused(device, with(whole, header + offsetof(axlf_header, m_numSections), count),
                  std::to_string(count) + " sections");
  }
  check_refused(device, with(whole, 0, 'y'), "another magic");
}

void wrong_sections(xrt::device& device, const Bytes& whole) {
  const auto* top = reinterpret_cast<const axlf*>(whole.data());
  for (uint32_t index = 0; index < top->m_header.m_numSections; ++index) {
    const size_t at = offsetof(axlf, m_sections) + index * sizeof(axlf_section_header);
    const std::string name = " of section " + std::to_string(index);
    for (const uint64_t offset : {uint64_t{8}, uint64_t{whole.size() + 8}, ~uint64_t{7}}) {
      check_refused(device,
                    with(whole, at + offsetof(axlf_section_header, m_sectionOffset), offset),
                    "offset " + std::to_string(offset) + name);
    }
    for (const uint64_t size : {uint64_t{whole.size()}, uint64_t{1} << 40, ~uint64_t{0}}) {
      check_refused(device, with(whole, at + offsetof(axlf_section_header, m_sectionSize), size),
                    "size " + std::to_string(size) + name);
    }
    const uint32_t kind = top->m_sections[index].m_sectionKind;
    if (kind != MEM_TOPOLOGY && kind != IP_LAYOUT && kind != CONNECTIVITY) continue;
    for (const int32_t count : {-1, 100000, std::numeric_limits<int32_t>::max()}) {
      check_refused(device, with(whole, top->m_sections[index].m_sectionOffset, count),
                    "count " + std::to_string(count) + name);
    }
  }
}

size_t offset_of(const Bytes& whole, uint32_t kind) {
  const auto* top = reinterpret_cast<const axlf*>(whole.data());
  for (uint32_t index = 0; index < top->m_header.m_numSections; ++index) {
    if (top->m_sections[index].m_sectionKind == kind) return top->m_sections[index].m_sectionOffset;
  }
  throw std::runtime_error("the xclbin lacks a section");
}

void wrong_tables(xrt::device& device, const Bytes& whole) {
  const size_t connections = offset_of(whole, CONNECTIVITY) + offsetof(connectivity, m_connection);
  for (const int32_t index : {-1, 1000}) {
    const std::string text = std::to_string(index);
    check_refused(device, with(whole, connections + offsetof(connection, m_ip_layout_index), index),
                  "unit " + text);
    check_refused(device, with(whole, connections + offsetof(connection, mem_data_index), index),
                  "memory " + text);
  }
  Bytes bytes = whole;
  const size_t unit = offset_of(whole, IP_LAYOUT) + offsetof(ip_layout, m_ip_data);
  std::memset(bytes.data() + unit + offsetof(ip_data, m_name), 'x', sizeof(ip_data::m_name));
  check_refused(device, bytes, "a name without end");
}

void works(xrt::device& device, const std::string& path) {
  const auto uuid = device.load_xclbin(path);
  xrt::kernel store(device, uuid, "store");
  xrt::bo out(device, 4096, store.group_id(1));
  CHECK_EQ(store(4242u, out).wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  CHECK_EQ(out.map<uint32_t*>()[0], 4242u);
}

// What is whole is taken by every call, also with a signature behind it.
void whole_is_taken(const Bytes& whole) {
  const xrt::uuid uuid = xrt::xclbin(whole).get_uuid();
  const GuardedCopy copy(whole);
  CHECK(xrt::xclbin(copy.top()).get_uuid() == uuid);
  Bytes longer = whole;
  longer.resize(whole.size() + 1000, 's');
  CHECK(xrt::xclbin(write_file("longer.xclbin", longer)).get_uuid() == uuid);
  const xrtXclbinHandle handle =
      xrtXclbinAllocRawData(whole.data(), static_cast<int>(whole.size()));
  CHECK(handle != nullptr);
  CHECK_EQ(xrtXclbinFreeHandle(handle), 0);
}

void damages(const Arguments& arguments) {
  const Bytes whole = read_file(arguments.xclbin);
  xrt::device device(0);
  truncations(device, whole);
  truncations_in_c(whole);
  wrong_header(device, whole);
  wrong_sections(device, whole);
  wrong_tables(device, whole);
  CHECK_THROWS(xrt::xclbin(std::string(".")));
  CHECK_THROWS(xrt::xclbin(std::string()));
  CHECK_THROWS(xrt::xclbin(static_cast<const axlf*>(nullptr)));
  CHECK_THROWS(device.load_xclbin("/dev/null"));
  whole_is_taken(whole);
  works(device, arguments.xclbin);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, damages); }
