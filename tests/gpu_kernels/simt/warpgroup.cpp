// SPDX-License-Identifier: Apache-2.0
//
// Products in flight: the operands once per warp, accumulators and order per thread.
#include "gpu_kernels/simt/warpgroup.h"

#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <vector>

#include "gpu_kernels/simt/simt.h"

namespace tandem::simt {
namespace {

constexpr std::uint32_t kFirstAddress = 1024 + 16;
constexpr int kDepth = 16, kRows = 16;  // of a warp's part of a product
constexpr float kInFlight = std::numeric_limits<float>::quiet_NaN();

struct WarpProduct {
  Product product;
  std::uint32_t a_words[32][4];
  bool is_read = false;
  std::vector<float> a;  // [kRows, kDepth]
  std::vector<float> b;  // [columns, kDepth]
  unsigned lanes_done = 0;
};

struct Warp {
  std::deque<WarpProduct> products;
  std::uint64_t first = 0;  // index of products.front()
};

// A thread's d.
struct Accumulator {
  float* d;
  std::vector<float> values;
  int in_flight = 0;
};

struct Issued {
  std::uint64_t index;
  Accumulator* accumulator;
  const std::uint32_t* a;
  std::uint32_t a_before[4];
  bool is_done;
};

struct Thread {
  bool is_open = false;
  std::uint64_t num_issued = 0;
  std::list<Accumulator> accumulators;
  std::vector<Issued> issued;
  std::deque<std::vector<Issued>> groups;
};

struct BlockProducts {
  Warp warps[32];
  Thread threads[1024];
  std::vector<unsigned char> published;  // shared memory as products see it
};

BlockProducts& own() {
  static std::map<unsigned, BlockProducts> of_machines;
  return of_machines[machine_id()];
}
Warp& warp() { return own().warps[threadIdx.x / 32]; }
Thread& thread() { return own().threads[threadIdx.x]; }

std::vector<unsigned char>& published() {
  std::vector<unsigned char>& view = own().published;
  if (view.size() != block_shared_bytes()) view.assign(block_shared_bytes(), 0xff);
  return view;
}

std::uint16_t read_value(std::uint32_t address) {
  const std::uint32_t swizzled = address ^ (address >> 7 & 7u) << 4;
  if (swizzled < kFirstAddress || swizzled + 2 > kFirstAddress + block_shared_bytes()) {
    fail_product("an operand lies outside the block's shared memory");
  }
  const std::size_t at = swizzled - kFirstAddress;
  if (std::memcmp(block_shared_memory() + at, published().data() + at, 2) != 0) {
    fail_product("an operand was written by ordinary stores that nobody has published");
  }
  std::uint16_t value;
  std::memcpy(&value, block_shared_memory() + at, sizeof(value));
  return value;
}

struct Descriptor {
  std::uint32_t start, leading, stride;
};
Descriptor decode(std::uint64_t bits) {
  const auto field = [bits](int from) {
    return static_cast<std::uint32_t>(bits >> from & 0x3fffu) << 4;
  };
  constexpr std::uint64_t kFields = 0xc000'3fff'3fff'3fffu;
  if ((bits & ~kFields) != 0) fail_product("a descriptor has bits that are none of its fields");
  if (bits >> 62 != 1) fail_product("only the 128-byte swizzle is known");
  return {field(0), field(16), field(32)};
}

// Values [index, kDepth]: of rows of a or columns of b.
void read_by_depth(const Product& product, std::uint64_t descriptor, int first, int num,
                   std::vector<float>& values) {
  const Descriptor from = decode(descriptor);
  for (int index = first; index < first + num; ++index) {
    for (int k = 0; k < kDepth; ++k) {
      const std::uint32_t at = from.start + static_cast<unsigned>(index / 8) * from.stride +
                               static_cast<unsigned>(index % 8 * 128 + k * 2);
      values.push_back(product.widen(read_value(at)));
    }
  }
}

void read_by_columns(const Product& product, std::vector<float>& values) {
  const Descriptor from = decode(product.b);
  for (int column = 0; column < product.columns; ++column) {
    for (int k = 0; k < kDepth; ++k) {
      const std::uint32_t at = from.start + static_cast<unsigned>(column / 64) * from.leading +
                               static_cast<unsigned>(k / 8) * from.stride +
                               static_cast<unsigned>(column % 64 * 2 + k % 8 * 128);
      values.push_back(product.widen(read_value(at)));
    }
  }
}

void read_operands(WarpProduct& of) {
  if (of.is_read) return;
  of.is_read = true;
  const Product& product = of.product;
  if (product.a_in_registers) {
    of.a.resize(kRows * kDepth);
    for (int at = 0; at < kRows * kDepth; ++at) {
      const int row = at / kDepth, k = at % kDepth;
      const std::uint32_t word = of.a_words[row % 8 * 4 + k % 8 / 2][k / 8 * 2 + row / 8];
      of.a[static_cast<std::size_t>(at)] =
          product.widen(static_cast<std::uint16_t>(word >> (k % 2 * 16)));
    }
  } else {
    const int warp_in_group = static_cast<int>(threadIdx.x / 32 % 4);
    read_by_depth(product, product.a, warp_in_group * kRows, kRows, of.a);
  }
  if (product.b_by_columns) {
    read_by_columns(product, of.b);
  } else {
    read_by_depth(product, product.b, 0, product.columns, of.b);
  }
}

void multiply(const WarpProduct& of, std::vector<float>& values) {
  const std::size_t lane = threadIdx.x % 32;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = lane / 4 + i % 4 / 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    const float *a = of.a.data() + row * kDepth, *b = of.b.data() + column * kDepth;
    float sum = of.product.adds ? values[i] : 0.0f;
    for (std::size_t k = 0; k < kDepth; ++k) sum += a[k] * b[k];
    values[i] = sum;
  }
}

void do_product(Issued& issued) {
  if (issued.is_done) return;
  issued.is_done = true;
  WarpProduct& product = warp().products[issued.index - warp().first];
  read_operands(product);
  multiply(product, issued.accumulator->values);
}

void finish(Issued& issued) {
  do_product(issued);
  if (issued.a != nullptr && std::memcmp(issued.a, issued.a_before, sizeof(issued.a_before)) != 0) {
    fail_product("registers of a have changed before the product was waited for");
  }
  Accumulator& accumulator = *issued.accumulator;
  if (--accumulator.in_flight == 0) {
    for (std::size_t i = 0; i < accumulator.values.size(); ++i) {
      if (!std::isnan(accumulator.d[i])) {
        fail_product("accumulators have changed before the product was waited for");
      }
      accumulator.d[i] = accumulator.values[i];
    }
  }
  ++warp().products[issued.index - warp().first].lanes_done;
  while (!warp().products.empty() && warp().products.front().lanes_done == 32) {
    warp().products.pop_front();
    ++warp().first;
  }
}

bool is_same(const Product& a, const Product& b) {
  return a.widen == b.widen && a.columns == b.columns && a.b_by_columns == b.b_by_columns &&
         a.a_in_registers == b.a_in_registers && a.adds == b.adds && a.a == b.a && a.b == b.b;
}

WarpProduct& product_of_warp(const Product& product, std::uint64_t index) {
  Warp& of = warp();
  if (index == of.first + of.products.size()) {
    of.products.push_back({});
    of.products.back().product = product;
  }
  WarpProduct& found = of.products[index - of.first];
  if (!is_same(found.product, product)) fail_product("lanes of a warp differ in their product");
  return found;
}

Accumulator* take_accumulator(float* d, int size) {
  Thread& issuer = thread();
  std::erase_if(issuer.accumulators, [](const Accumulator& each) { return each.in_flight == 0; });
  for (Accumulator& each : issuer.accumulators) {
    if (each.d == d) return &each;
  }
  issuer.accumulators.push_back({d, std::vector<float>(d, d + size), 0});
  std::fill(d, d + size, kInFlight);
  return &issuer.accumulators.back();
}

}  // namespace

void fail_product(const char* reason) {
  std::fprintf(stderr, "simt: thread %u of block %u, %u: %s\n", threadIdx.x, blockIdx.x, blockIdx.y,
               reason);
  std::abort();
}

std::uint32_t shared_address(const void* at) {
  const auto offset =
      static_cast<std::size_t>(static_cast<const unsigned char*>(at) - block_shared_memory());
  if (offset >= block_shared_bytes()) fail_product("an address is not of dynamic shared memory");
  return kFirstAddress + static_cast<std::uint32_t>(offset);
}

void publish_stores() {
  std::memcpy(published().data(), block_shared_memory(), block_shared_bytes());
}

void store_by_copy(std::uint32_t address, const void* from, std::size_t size) {
  const std::size_t at = address - kFirstAddress;
  if (address < kFirstAddress || at + size > block_shared_bytes()) {
    fail_product("a copy goes outside the block's shared memory");
  }
  std::memcpy(block_shared_memory() + at, from, size);
  std::memcpy(published().data() + at, from, size);
}

void open_products() { thread().is_open = true; }

void issue_product(const Product& product, float* d, const std::uint32_t* a) {
  Thread& issuer = thread();
  if (!issuer.is_open) fail_product("a product without open_products() since the last wait");
  const std::uint64_t index = issuer.num_issued++;
  WarpProduct& of_warp = product_of_warp(product, index);
  Issued issued{index, take_accumulator(d, product.columns / 2), a, {}, false};
  ++issued.accumulator->in_flight;
  if (a != nullptr) {
    std::memcpy(issued.a_before, a, sizeof(issued.a_before));
    std::memcpy(of_warp.a_words[threadIdx.x % 32], a, sizeof(issued.a_before));
  }
  warp_barrier();
  if (order() == Order::kShuffled) do_product(issued);
  issuer.issued.push_back(issued);
}

void commit_products() {
  Thread& issuer = thread();
  issuer.groups.push_back(std::move(issuer.issued));
  issuer.issued.clear();
}

void wait_products(int num_pending) {
  Thread& issuer = thread();
  if (!issuer.issued.empty()) fail_product("products are waited for that no group holds");
  while (issuer.groups.size() > static_cast<std::size_t>(num_pending)) {
    for (Issued& issued : issuer.groups.front()) finish(issued);
    issuer.groups.pop_front();
  }
  issuer.is_open = false;
}

void expect_done(const float* d) {
  for (const Accumulator& each : thread().accumulators) {
    if (each.d == d && each.in_flight > 0) {
      fail_product("accumulators are named as done whose products are in flight");
    }
  }
}

}  // namespace tandem::simt
