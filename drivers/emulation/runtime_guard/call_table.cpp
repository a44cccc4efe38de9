// SPDX-License-Identifier: Apache-2.0
//
// The loader closes the pages of PT_GNU_RELRO once it has filled them; they hold the table if the
// library is bound when it is loaded.
#include "emulation/runtime_guard/call_table.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tandem::emulation {
namespace {

struct CallTable {
  const ElfW(Rela) * entries = nullptr;
  std::size_t num_bytes = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
};

CallTable call_table(const link_map& library) {
  CallTable table;
  for (const ElfW(Dyn)* at = library.l_ld; at->d_tag != DT_NULL; ++at) {
    if (at->d_tag == DT_JMPREL) table.entries = reinterpret_cast<ElfW(Rela)*>(at->d_un.d_ptr);
    if (at->d_tag == DT_PLTRELSZ) table.num_bytes = at->d_un.d_val;
    if (at->d_tag == DT_SYMTAB) table.symbols = reinterpret_cast<ElfW(Sym)*>(at->d_un.d_ptr);
    if (at->d_tag == DT_STRTAB) table.names = reinterpret_cast<const char*>(at->d_un.d_ptr);
  }
  return table;
}

std::uintptr_t page_of(std::uintptr_t address) {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return address / page_bytes * page_bytes;
}

// Whole pages; the loader leaves the rest of the last one open.
struct ClosedPages {
  std::uintptr_t library = 0;  // where it is loaded
  std::uintptr_t begin = 0, end = 0;
};

int note_closed_pages(dl_phdr_info* info, std::size_t, void* pages) {
  auto& found = *static_cast<ClosedPages*>(pages);
  if (info->dlpi_addr != found.library) return 0;
  for (int index = 0; index < info->dlpi_phnum; ++index) {
    const ElfW(Phdr)& part = info->dlpi_phdr[index];
    if (part.p_type != PT_GNU_RELRO) continue;
    found.begin = page_of(info->dlpi_addr + part.p_vaddr);
    found.end = page_of(info->dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  return 1;
}

void set_call(void** entry, void* target, const ClosedPages& closed) {
  const auto at = reinterpret_cast<std::uintptr_t>(entry);
  const bool is_closed = at >= closed.begin && at < closed.end;
  void* const page = reinterpret_cast<void*>(page_of(at));
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (is_closed && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  *entry = target;
  if (is_closed) mprotect(page, page_bytes, PROT_READ);
}

}  // namespace

void replace_calls(const link_map& library, const char* function, void* target) {
  ClosedPages closed{library.l_addr};
  dl_iterate_phdr(note_closed_pages, &closed);
  const CallTable table = call_table(library);
  for (std::size_t index = 0; index < table.num_bytes / sizeof(ElfW(Rela)); ++index) {
    const ElfW(Rela)& entry = table.entries[index];
    const char* const name = table.names + table.symbols[ELF64_R_SYM(entry.r_info)].st_name;
    if (std::strcmp(name, function) != 0) continue;
    set_call(reinterpret_cast<void**>(library.l_addr + entry.r_offset), target, closed);
  }
}

}  // namespace tandem::emulation
