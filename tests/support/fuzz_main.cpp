// SPDX-License-Identifier: Apache-2.0
//
// A standalone driver for fuzz targets, for compilers without libFuzzer: runs every seed, then
// mutations of them, deterministic for a given seed number.
//
// Usage: target [--seconds N] [--runs N] [--seed N] [--write-seeds DIRECTORY] [file or
// directory]... Seeds are the files named and what the target's add_fuzz_seeds() offers;
// --write-seeds writes them as files, for libFuzzer, and ends. Mutations: bit flips, truncations,
// splices of two seeds, interesting integers of 1 to 8 bytes, repeated chunks. A crash, an uncaught
// exception or a sanitizer report ends the process; the input that did it is then in
// ./fuzz-crash.bin. Exit code 0: `--runs` or `--seconds`, whichever came first, passed.
#include "support/fuzz_main.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

namespace {

const std::string* g_current_input = nullptr;  // what the handler writes when the target crashes

void save_current_input() {
  if (g_current_input == nullptr) return;
  const int file = ::open("fuzz-crash.bin", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) return;
  const ssize_t written = ::write(file, g_current_input->data(), g_current_input->size());
  ::close(file);
  const char message[] = "fuzz: the input that failed is in ./fuzz-crash.bin\n";
  if (written >= 0 && ::write(2, message, sizeof message - 1) < 0) return;
}

void on_signal(int number) {
  save_current_input();
  ::signal(number, SIG_DFL);
  ::raise(number);
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(const std::vector<std::string>& seeds) {
    std::string input = seeds[below(seeds.size())];
    for (std::size_t round = 0, rounds = 1 + below(4); round < rounds; ++round) {
      change(input, seeds);
    }
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void change(std::string& input, const std::vector<std::string>& seeds) {
    switch (below(6)) {
      case 0:
        flip_bits(input);
        break;
      case 1:
        input.resize(below(input.size() + 1));
        break;
      case 2:
        splice(input, seeds[below(seeds.size())]);
        break;
      case 3:
      case 4:
        write_integer(input);
        break;
      default:
        repeat_chunk(input);
    }
  }

  void flip_bits(std::string& input) {
    if (input.empty()) return;
    for (std::size_t flip = 0, flips = 1 + below(8); flip < flips; ++flip) {
      input[below(input.size())] ^= static_cast<char>(1u << below(8));
    }
  }

  void splice(std::string& input, const std::string& other) {
    input.resize(below(input.size() + 1));
    input += other.substr(below(other.size() + 1));
  }

  void write_integer(std::string& input) {
    static constexpr std::uint64_t kInteresting[] = {0,
                                                     1,
                                                     2,
                                                     7,
                                                     8,
                                                     9,
                                                     31,
                                                     32,
                                                     64,
                                                     127,
                                                     128,
                                                     255,
                                                     256,
                                                     4096,
                                                     0x7fff,
                                                     0x8000,
                                                     0xffff,
                                                     0x7fffffff,
                                                     0x80000000,
                                                     0xffffffff,
                                                     0x100000000,
                                                     0x7fffffffffffffff,
                                                     0x8000000000000000,
                                                     0xffffffffffffffff};
    const std::size_t width = std::size_t{1} << below(4);
    if (input.size() < width) return;
    std::uint64_t value = kInteresting[below(std::size(kInteresting))];
    if (below(8) == 0) value = random_();
    std::memcpy(input.data() + below(input.size() - width + 1), &value, width);
  }

  void repeat_chunk(std::string& input) {
    if (input.empty() || input.size() > (1u << 20)) return;
    const std::size_t at = below(input.size());
    const std::string chunk = input.substr(at, 1 + below(64));
    for (std::size_t copy = 0, copies = 1 + below(8); copy < copies; ++copy) {
      input.insert(at, chunk);
    }
  }

  std::mt19937_64 random_;
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void add_seeds(const std::filesystem::path& path, std::vector<std::string>& seeds) {
  if (!std::filesystem::is_directory(path)) {
    seeds.push_back(read_file(path));
    return;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());  // the directory's own order would not be deterministic
  for (const auto& file : files) seeds.push_back(read_file(file));
}

struct Options {
  double seconds = 1;
  std::uint64_t runs = UINT64_MAX;
  std::uint64_t seed = 1;
  std::string write_seeds;  // to this directory
  std::vector<std::string> seeds;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--seconds" && has_value) {
      options.seconds = std::stod(argv[++i]);
    } else if (argument == "--runs" && has_value) {
      options.runs = std::stoull(argv[++i]);
    } else if (argument == "--seed" && has_value) {
      options.seed = std::stoull(argv[++i]);
    } else if (argument == "--write-seeds" && has_value) {
      options.write_seeds = argv[++i];
    } else {
      add_seeds(argument, options.seeds);
    }
  }
  if (tandem::test::add_fuzz_seeds != nullptr) tandem::test::add_fuzz_seeds(options.seeds);
  if (options.seeds.empty()) options.seeds.emplace_back();
  return options;
}

int write_seeds(const Options& options) {
  std::filesystem::create_directories(options.write_seeds);
  for (std::size_t i = 0; i < options.seeds.size(); ++i) {
    std::ofstream out(std::filesystem::path(options.write_seeds) / ("seed-" + std::to_string(i)),
                      std::ios::binary);
    out << options.seeds[i];
    if (!out.flush()) return 1;
  }
  return 0;
}

void run_one(const std::string& input) {
  g_current_input = &input;
  // A copy of exactly this size, so that a sanitizer sees a read past its end.
  const std::vector<std::uint8_t> exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
  g_current_input = nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (!options.write_seeds.empty()) return write_seeds(options);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::signal(number, on_signal);
  for (const std::string& seed : options.seeds) run_one(seed);
  Mutator mutator(options.seed);
  const auto start = std::chrono::steady_clock::now();
  const auto limit = std::chrono::duration<double>(options.seconds);
  std::uint64_t runs = 0;
  while (runs < options.runs && std::chrono::steady_clock::now() - start < limit) {
    run_one(mutator.mutate(options.seeds));
    ++runs;
  }
  std::printf("fuzz: %zu seeds and %llu mutations passed\n", options.seeds.size(),
              static_cast<unsigned long long>(runs));
  return 0;
}
