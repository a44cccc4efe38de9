// SPDX-License-Identifier: Apache-2.0
//
// Calls of a loaded library that get another target.
#include "emulation/runtime_guard/call_table.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tandem::emulation {
namespace {

char* name_itself(const char* name) { return const_cast<char*>(name); }

// The mappings of the library, with their protections.
std::string mappings_of(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  std::string found;
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(path)) found += line + "\n";
  }
  return found;
}

void replace_and_call(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* const value_of = reinterpret_cast<const char* (*)(const char*)>(dlsym(library, "value_of"));
  ASSERT_NE(value_of, nullptr);
  link_map* map = nullptr;
  ASSERT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  const std::string before = mappings_of(path);
  EXPECT_NE(before.find("r--p"), std::string::npos);
  const char* const unknown = "TANDEM_NO_SUCH_VARIABLE";
  replace_calls(*map, "setenv", reinterpret_cast<void*>(&name_itself));
  EXPECT_EQ(value_of(unknown), nullptr) << "it calls another function";
  replace_calls(*map, "getenv", reinterpret_cast<void*>(&name_itself));
  EXPECT_EQ(value_of(unknown), unknown);
  EXPECT_EQ(mappings_of(path), before);
  dlclose(library);
}

// A library of another linker: it tells that it is bound at once in DT_FLAGS_1 only.
std::string copy_without_flags(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
  const auto* const parts = reinterpret_cast<const Elf64_Phdr*>(bytes.data() + header->e_phoff);
  bool is_changed = false;
  for (int part = 0; part < header->e_phnum; ++part) {
    if (parts[part].p_type != PT_DYNAMIC) continue;
    auto* entry = reinterpret_cast<Elf64_Dyn*>(bytes.data() + parts[part].p_offset);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_FLAGS) entry->d_un.d_val &= ~Elf64_Xword{DF_BIND_NOW};
      is_changed = is_changed || entry->d_tag == DT_FLAGS;
    }
  }
  EXPECT_TRUE(is_changed);
  const std::string copy = testing::TempDir() + "flags_1_only." + std::to_string(getpid());
  std::ofstream(copy, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return copy;
}

TEST(CallTable, GetsAnotherTargetWhereItIsClosed) { replace_and_call(TANDEM_CALLING_NOW); }

TEST(CallTable, GetsAnotherTargetWhereItIsOpen) { replace_and_call(TANDEM_CALLING_LAZY); }

TEST(CallTable, IsClosedWhateverTheFlagsSay) {
  const std::string copy = copy_without_flags(TANDEM_CALLING_NOW);
  replace_and_call(copy);
  std::remove(copy.c_str());
}

}  // namespace
}  // namespace tandem::emulation
