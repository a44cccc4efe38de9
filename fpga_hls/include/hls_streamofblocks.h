// SPDX-License-Identifier: Apache-2.0
//
// hls::stream_of_blocks for software emulation: a channel of arrays. The producer fills a block
// under a write_lock, the consumer uses it under a read_lock; both access it in any order, any
// number of times.
//
// A write_lock waits while the channel is full, a read_lock until a block is filled. The end of the
// lock passes the block on. One producer and one consumer. A block keeps its old contents, as the
// memories of hardware do; at first it holds zeros. Cost: no copy of a block. Source: UG1399, "HLS
// Stream of Blocks". C++11.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "hls_stream.h"

#include "tandem_macros_begin.h"

namespace hls {

template <typename T>
class write_lock;
template <typename T>
class read_lock;

namespace detail {

template <typename T>
class BlockStream {
  struct Block {
    T value;
  };

 public:
  BlockStream(const BlockStream&) = delete;
  BlockStream& operator=(const BlockStream&) = delete;

  bool empty() const { return filled_.empty(); }
  bool full() const { return filled_.full(); }
  std::size_t size() const { return filled_.size(); }
  std::size_t capacity() const { return filled_.capacity(); }
  const std::string& name() const { return filled_.name(); }
  void set_name(const char* name) { filled_.set_name(name); }
  void set_depth(unsigned depth) { filled_.set_depth(depth); }

 protected:
  BlockStream(const std::string& name, unsigned depth) : filled_(name) {
    filled_.set_depth(depth);
    filled_.tandem_channel().element_bytes = sizeof(Block);
  }
  ~BlockStream() {
    while (filled_.tandem_channel().held() != 0) delete filled_.read();
    while (free_.tandem_channel().held() != 0) delete free_.read();
  }

 private:
  friend class write_lock<T>;
  friend class read_lock<T>;

  hls::stream<Block*> filled_;
  hls::stream<Block*> free_;  // back to the producer
};

}  // namespace detail

template <typename T, int Depth = 2>
class stream_of_blocks : public detail::BlockStream<T> {
  static_assert(Depth > 0, "the depth of a stream of blocks is positive");

 public:
  using block_type = T;
  stream_of_blocks() : stream_of_blocks("unnamed") {}
  explicit stream_of_blocks(const char* name)
      : detail::BlockStream<T>(name, static_cast<unsigned>(Depth)) {}
};

// Access to one block: as the array itself, or by index.
template <typename T>
class write_lock {
  using Stream = detail::BlockStream<T>;

 public:
  explicit write_lock(Stream& stream) : stream_(stream) {
    stream.filled_.tandem_await_space();
    block_ = stream.free_.tandem_channel().held() != 0 ? stream.free_.read()
                                                       : new typename Stream::Block();
  }
  ~write_lock() { stream_.filled_.tandem_put(block_); }
  write_lock(const write_lock&) = delete;
  write_lock& operator=(const write_lock&) = delete;

  operator T&() { return block_->value; }
  template <typename Index>
  auto operator[](Index index) -> decltype((std::declval<T&>()[index])) {
    return block_->value[index];
  }

 private:
  Stream& stream_;
  typename Stream::Block* block_;
};

template <typename T>
class read_lock {
  using Stream = detail::BlockStream<T>;

 public:
  explicit read_lock(Stream& stream) : stream_(stream), block_(stream.filled_.read()) {}
  ~read_lock() { stream_.free_.tandem_put(block_); }
  read_lock(const read_lock&) = delete;
  read_lock& operator=(const read_lock&) = delete;

  operator T&() { return block_->value; }
  template <typename Index>
  auto operator[](Index index) -> decltype((std::declval<T&>()[index])) {
    return block_->value[index];
  }

 private:
  Stream& stream_;
  typename Stream::Block* block_;
};

}  // namespace hls

#include "tandem_macros_end.h"
