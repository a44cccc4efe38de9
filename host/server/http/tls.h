// SPDX-License-Identifier: Apache-2.0
//
// TLS 1.2 and 1.3 by OpenSSL: certificate and key from files, and streams that use them. Only
// ciphers with forward secrecy and authenticated encryption are offered.
//
// The keys are immutable. A reload makes new keys; existing connections keep theirs. ALPN accepts
// "http/1.1" and "http/1.0". Threads: any; for a stream see stream.h.
#pragma once

#include <memory>

#include "server/http/listen_options.h"
#include "server/http/stream.h"

namespace tandem::server::http {

class TlsKeys;

// Throws Error("server", ...) naming the file that cannot be read, or if the key does not belong to
// the certificate.
std::shared_ptr<TlsKeys> load_tls_keys(const TlsFiles& files);

std::unique_ptr<Stream> make_tls_stream(Socket socket, std::shared_ptr<TlsKeys> keys);

}  // namespace tandem::server::http
