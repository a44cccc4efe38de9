// SPDX-License-Identifier: Apache-2.0
//
// Over zlib's inflate(): its gzread() says nothing of what follows a stream.
#include "tensor/sparse/files/text_input.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/error.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kHeldBytes = std::size_t{1} << 18, kMostAtOnce = std::size_t{1} << 30;
constexpr unsigned char kMagic[] = {0x1f, 0x8b};
constexpr int kGzipWindow = 15 + 16;  // the largest window, with gzip's header and check sums

}  // namespace

TextInput::TextInput(std::string path)
    : path_(std::move(path)), held_(kHeldBytes), stream_(std::make_unique<z_stream>()) {
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) fail(std::strerror(errno));
  stream_->next_in = held_.data();
  try {
    is_gzip_ = is_between_ = begins_gzip();
    if (is_gzip_ && inflateInit2(stream_.get(), kGzipWindow) != Z_OK) fail(std::strerror(ENOMEM));
  } catch (...) {
    ::close(file_);
    throw;
  }
}

TextInput::~TextInput() {
  if (is_gzip_) inflateEnd(stream_.get());
  ::close(file_);
}

void TextInput::fail(const std::string& text) const { throw Error("tensor", path_ + ": " + text); }

std::size_t TextInput::read_file(void* to, std::size_t size) {
  for (;;) {
    const ssize_t count = ::read(file_, to, std::min(size, kMostAtOnce));
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail(std::strerror(errno));
  }
}

bool TextInput::hold(std::size_t bytes) {
  std::memmove(held_.data(), stream_->next_in, stream_->avail_in);
  stream_->next_in = held_.data();
  while (stream_->avail_in < bytes) {
    const std::size_t count =
        read_file(held_.data() + stream_->avail_in, held_.size() - stream_->avail_in);
    if (count == 0) return false;
    stream_->avail_in += static_cast<unsigned>(count);
  }
  return true;
}

bool TextInput::begins_gzip() {
  return hold(sizeof kMagic) && std::memcmp(stream_->next_in, kMagic, sizeof kMagic) == 0;
}

std::size_t TextInput::read(char* to, std::size_t size) {
  if (is_gzip_) return inflate_some(to, std::min(size, kMostAtOnce));
  if (stream_->avail_in == 0) return read_file(to, size);
  const std::size_t count = std::min<std::size_t>(size, stream_->avail_in);
  std::memcpy(to, stream_->next_in, count);
  stream_->next_in += count;
  stream_->avail_in -= static_cast<unsigned>(count);
  return count;
}

bool TextInput::has_next_stream() {
  if (begins_gzip()) return true;
  while (hold(1)) {
    const unsigned char* const first = stream_->next_in;
    if (std::any_of(first, first + stream_->avail_in, [](unsigned char b) { return b != 0; })) {
      fail("the gzip stream ends before the file, and what follows is no gzip stream");
    }
    stream_->avail_in = 0;
  }
  return false;
}

std::size_t TextInput::inflate_some(char* to, std::size_t size) {
  stream_->next_out = reinterpret_cast<unsigned char*>(to);
  stream_->avail_out = static_cast<unsigned>(size);
  while (stream_->avail_out == size) {
    if (is_between_ && !has_next_stream()) return 0;
    is_between_ = false;
    if (stream_->avail_in == 0 && !hold(1)) {
      fail("the gzip stream is damaged or cut off (unexpected end of file)");
    }
    const int code = inflate(stream_.get(), Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      is_between_ = true;
      inflateReset(stream_.get());
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      const char* const reason = stream_->msg == nullptr ? zError(code) : stream_->msg;
      fail(std::string("the gzip stream is damaged or cut off (") + reason + ")");
    }
  }
  return size - stream_->avail_out;
}

}  // namespace tandem::sparse
