// SPDX-License-Identifier: Apache-2.0
//
// The cache of compiled kernels under its faults: compilers that fail, hang or write nonsense,
// other processes, damaged files, a folder that others may write to, and too many bytes.
#include "tensor/sparse/generated/kernel_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/scratch_folder.h"
#include "machine_compiler.h"

namespace tandem::sparse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string source_of(int answer) {
  return "extern \"C\" int answer() { return " + std::to_string(answer) + "; }\n";
}

class KernelCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    if (test::machine_compiler().empty()) GTEST_SKIP() << "no C++ compiler";
  }

  KernelCacheOptions options() const {
    KernelCacheOptions made;
    made.folder = folder_.path() + "/kernels";
    made.compiler = SourceCompiler(test::machine_compiler());
    return made;
  }

  // A program in place of the compiler.
  KernelCacheOptions with_script(const std::string& text,
                                 std::chrono::milliseconds limit = std::chrono::seconds(60)) const {
    const std::string path = folder_.path() + "/compiler";
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(path, fs::perms::owner_all);
    KernelCacheOptions made = options();
    made.compiler = SourceCompiler(path, limit);
    return made;
  }

  static int answer_of(KernelCache& cache, const std::string& key, int answer) {
    void* const found = cache.find(key, source_of(answer), "answer");
    return found == nullptr ? -1 : reinterpret_cast<int (*)()>(found)();
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(options().folder))
      found.push_back(entry.path());
    return found;
  }

  ScratchFolder folder_{"test", "kernel-cache."};
};

TEST_F(KernelCacheTest, CompilesOnceAndLoadsAfterwards) {
  KernelCache first(options());
  EXPECT_FALSE(first.has("k", source_of(42)));
  EXPECT_EQ(answer_of(first, "k", 42), 42);
  EXPECT_EQ(answer_of(first, "k", 42), 42);
  EXPECT_EQ(first.stats().compiled, 1u);
  EXPECT_GT(first.stats().compile_s, 0);
  ASSERT_EQ(files().size(), 1u);  // and no text or part of it
  EXPECT_EQ(fs::status(options().folder).permissions(), fs::perms::owner_all);
  KernelCacheOptions offline = options();
  KernelCache second(offline);
  EXPECT_TRUE(second.has("k", source_of(42)));
  EXPECT_EQ(answer_of(second, "k", 42), 42);
  EXPECT_EQ(second.stats().compiled, 0u);
  EXPECT_EQ(second.stats().loaded, 1u);
  EXPECT_EQ(second.stats().compile_s, 0);
}

TEST_F(KernelCacheTest, AnotherSourceOrCompilerIsAnotherKernel) {
  KernelCache cache(options());
  EXPECT_EQ(answer_of(cache, "k", 1), 1);
  EXPECT_EQ(answer_of(cache, "k", 2), 2);
  KernelCache other(with_script("exec " + test::machine_compiler() + " \"$@\""));
  EXPECT_FALSE(other.has("k", source_of(1)));
  EXPECT_EQ(answer_of(other, "k", 1), 1);
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(KernelCacheTest, ACompilerThatFailsHangsOrIsMissingGivesNoKernelAndSaysWhy) {
  KernelCache fails(with_script("echo no such flag; exit 3"));
  EXPECT_EQ(answer_of(fails, "k", 1), -1);
  EXPECT_THAT(fails.reason(), HasSubstr("no such flag"));
  EXPECT_TRUE(files().empty());
  KernelCache hangs(with_script("sleep 600 & sleep 600", std::chrono::milliseconds(100)));
  EXPECT_EQ(answer_of(hangs, "k", 1), -1);
  EXPECT_THAT(hangs.reason(), HasSubstr("did not end in time"));
  KernelCache silent(
      with_script("exec > /dev/null 2>&1; sleep 600", std::chrono::milliseconds(100)));
  EXPECT_EQ(answer_of(silent, "k", 1), -1);
  EXPECT_THAT(silent.reason(), HasSubstr("did not end in time"));
  KernelCache lies(with_script("exit 0"));
  EXPECT_EQ(answer_of(lies, "k", 1), -1);
  KernelCacheOptions missing = options();
  missing.compiler = SourceCompiler(folder_.path() + "/nothing");
  KernelCache none(missing);
  EXPECT_EQ(answer_of(none, "k", 1), -1);
  EXPECT_THAT(none.reason(), HasSubstr("nothing"));
  EXPECT_TRUE(files().empty());
}

TEST_F(KernelCacheTest, WhatACompilerStartedEndsWithIt) {
  const std::string fifo = folder_.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int end = open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  KernelCache cache(
      with_script("exec 9> " + fifo + "; sleep 600 & sleep 600", std::chrono::seconds(1)));
  EXPECT_EQ(answer_of(cache, "k", 1), -1);
  // Both sleeps hold the other end until they are gone.
  ssize_t count = -1;
  for (int turn = 0; turn < 600 && count != 0; ++turn) {
    char byte;
    count = read(end, &byte, 1);
    if (count != 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(count, 0);
  close(end);
}

TEST_F(KernelCacheTest, AFailureIsNotTriedAgain) {
  const std::string log = folder_.path() + "/log";
  KernelCache cache(with_script("echo x >> " + log + "; exit 1"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(answer_of(cache, "k", 1), -1);
  EXPECT_EQ(fs::file_size(log), 2u);
  EXPECT_EQ(cache.stats().failed, 1u);
  EXPECT_GT(cache.stats().compile_s, 0) << "it took its time as well";
  EXPECT_NE(cache.reason(), "");
}

TEST_F(KernelCacheTest, ADamagedOrCutFileIsMadeAgain) {
  for (const bool is_cut : {false, true}) {
    KernelCache(options()).find("k", source_of(7), "answer");
    ASSERT_EQ(files().size(), 1u);
    const fs::path file = files()[0];
    fs::copy_file(file, file.string() + ".copy");  // another inode: the first one is mapped
    fs::rename(file.string() + ".copy", file);
    if (is_cut) {
      fs::resize_file(file, fs::file_size(file) / 2);
    } else {
      std::fstream(file, std::ios::in | std::ios::out).seekp(200).put('\x5a').put('\xa5');
    }
    KernelCache cache(options());
    EXPECT_EQ(answer_of(cache, "k", 7), 7);
    EXPECT_EQ(cache.stats().compiled, 1u) << is_cut;
  }
}

TEST_F(KernelCacheTest, AFullDiskGivesNoKernelAndLeavesNothing) {
  // The compiler's output is more than files may have.
  KernelCache full(with_script("ulimit -f 1; exec " + test::machine_compiler() + " \"$@\""));
  EXPECT_EQ(answer_of(full, "k", 1), -1);
  EXPECT_NE(full.reason(), "");
  EXPECT_TRUE(files().empty());
  KernelCacheOptions device = options();
  device.folder = "/dev/full/kernels";
  KernelCache impossible(device);
  EXPECT_EQ(answer_of(impossible, "k", 1), -1);
  EXPECT_THAT(impossible.reason(), HasSubstr("/dev/full"));
}

TEST_F(KernelCacheTest, AFolderThatOthersMayWriteToIsNotUsed) {
  fs::create_directory(options().folder);
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(options().folder, fs::perms::owner_all | others);
    KernelCache cache(options());
    EXPECT_EQ(answer_of(cache, "k", 1), -1);
    EXPECT_THAT(cache.reason(), HasSubstr("may be written to by others"));
  }
}

TEST_F(KernelCacheTest, AFolderThatOthersMayReplaceIsNotUsed) {
  KernelCacheOptions made = options();
  made.folder = folder_.path() + "/shared/kernels";
  fs::create_directory(folder_.path() + "/shared");
  for (const fs::perms shared : {fs::perms::owner_all | fs::perms::group_all, fs::perms::all}) {
    fs::permissions(folder_.path() + "/shared", shared);
    KernelCache cache(made);
    EXPECT_EQ(answer_of(cache, "k", 1), -1);
    EXPECT_THAT(cache.reason(), HasSubstr("may be written to by others"));
  }
  fs::create_directory(options().folder);
  fs::permissions(options().folder, fs::perms::owner_all);
  fs::create_directory_symlink(options().folder, folder_.path() + "/shared/link");
  made.folder = folder_.path() + "/shared/link";
  KernelCache linked(made);
  EXPECT_EQ(answer_of(linked, "k", 1), -1);
  fs::permissions(folder_.path() + "/shared", fs::perms::all | fs::perms::sticky_bit);
  KernelCache sticky(made);
  EXPECT_EQ(answer_of(sticky, "k", 1), 1) << "each user keeps what is its own";
}

TEST_F(KernelCacheTest, AFileThatOthersMayWriteToIsMadeAgain) {
  const mode_t before = umask(0);  // what a compiler makes, all may write to
  KernelCache(options()).find("k", source_of(7), "answer");
  umask(before);
  ASSERT_EQ(files().size(), 1u);
  const fs::path file = files()[0];
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
  KernelCache cache(options());
  EXPECT_EQ(answer_of(cache, "k", 7), 7);
  EXPECT_EQ(cache.stats().compiled, 1u);
}

TEST_F(KernelCacheTest, AFolderThatCannotBeLookedIntoGivesNoKernel) {
  KernelCacheOptions made = options();
  made.folder = folder_.path() + "/" + std::string(300, 'a');  // no name is as long
  KernelCache cache(made);
  EXPECT_FALSE(cache.has("k", source_of(1)));
  EXPECT_EQ(answer_of(cache, "k", 1), -1);
  EXPECT_THAT(cache.reason(), HasSubstr("cannot be made a folder"));
}

TEST_F(KernelCacheTest, AFunctionThatALibraryDoesNotHaveIsTold) {
  KernelCache cache(options());
  EXPECT_EQ(cache.find("k", source_of(1), "question"), nullptr);
  EXPECT_THAT(cache.reason(), HasSubstr("has no function question"));
}

TEST_F(KernelCacheTest, TheLeastRecentlyUsedGoWhenThereAreTooManyBytes) {
  KernelCacheOptions small = options();
  KernelCache(small).find("a", source_of(1), "answer");
  const auto bytes = fs::file_size(files()[0]);
  small.most_bytes = 2 * bytes + bytes / 2;
  KernelCache(small).find("b", source_of(2), "answer");
  // "a" is older, but used again.
  const auto hour = std::chrono::hours(1);
  for (const fs::path& file : files()) {
    const bool is_a = file.filename().string().starts_with("a-");
    fs::last_write_time(file, fs::file_time_type::clock::now() - (is_a ? 3 * hour : 2 * hour));
  }
  KernelCache cache(small);
  EXPECT_EQ(answer_of(cache, "a", 1), 1);
  EXPECT_EQ(answer_of(cache, "c", 3), 3);
  EXPECT_EQ(cache.stats().removed, 1u);
  EXPECT_TRUE(cache.has("a", source_of(1)));
  KernelCache after(small);
  EXPECT_TRUE(after.has("a", source_of(1)));
  EXPECT_FALSE(after.has("b", source_of(2)));
  // What fills the bound exactly stays; a byte less, and the oldest goes.
  std::uintmax_t all = 0;
  for (const fs::path& file : files()) all += fs::file_size(file);
  for (const std::size_t less : {0, 1}) {
    for (const fs::path& file : files()) {
      if (file.filename().string().starts_with("c-")) fs::remove(file);
    }
    small.most_bytes = all - less;
    KernelCache again(small);
    EXPECT_EQ(answer_of(again, "c", 3), 3);
    EXPECT_EQ(again.stats().removed, less);
  }
  small.most_bytes = 1;
  KernelCache none(small);
  EXPECT_EQ(answer_of(none, "d", 4), 4) << "works without its file";
  EXPECT_TRUE(files().empty());
}

TEST_F(KernelCacheTest, WhatADeadProcessLeftGoes) {
  KernelCache cache(options());
  EXPECT_EQ(answer_of(cache, "a", 1), 1);
  const std::string old = options().folder + "/x-1.so.7.1.part",
                    young = options().folder + "/y.so.7.1.part";
  for (const std::string& file : {old, young}) std::ofstream(file) << "half";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const fs::path old_folder = options().folder + "/z-1.so.part.abcdef";
  fs::create_directory(old_folder);
  std::ofstream(old_folder / "kernel.cpp") << "half";
  fs::last_write_time(old_folder, fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(answer_of(cache, "b", 2), 2);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_FALSE(fs::exists(old_folder));
  EXPECT_TRUE(fs::exists(young)) << "its process may live";
}

TEST_F(KernelCacheTest, ManyProcessesAtOnceMakeTheSameKernel) {
  std::vector<pid_t> processes;
  for (int i = 0; i < 4; ++i) {
    const pid_t process = fork();
    if (process == 0) {
      KernelCache cache(options());
      _exit(answer_of(cache, "k", 42) == 42 && answer_of(cache, "k2", 43) == 43 ? 0 : 1);
    }
    processes.push_back(process);
  }
  for (const pid_t process : processes) {
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files().size(), 2u);
  std::vector<std::thread> threads;
  KernelCache shared(options());
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(answer_of(shared, "new", 5), 5); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.stats().compiled, 1u);
}

}  // namespace
}  // namespace tandem::sparse
