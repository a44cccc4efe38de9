// SPDX-License-Identifier: Apache-2.0
//
// The compiled parts of Boost.Asio and of Boost.Beast's HTTP parser, once for the whole target.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
