// SPDX-License-Identifier: Apache-2.0
//
// What the thread sanitizer reports of Debian's libraries and ignores. Linked into every unit test
// of a build with that sanitizer, and into the programs that the tests start.
//
// gloo: its thread closes the listening socket of a pair once the peer has connected. The sanitizer
// does not know that this event comes only after the socket is registered with epoll.

extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  return "race:gloo::transport::tcp::Pair::handleListening\n";
}
