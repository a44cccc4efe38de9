// SPDX-License-Identifier: Apache-2.0
//
// Imports names of lower layers into this namespace: messages of the transport, and sparse vectors.
#pragma once

#include "tensor/sparse/partition.h"
#include "tensor/sparse/sparse_vector.h"
#include "transport/payload.h"
#include "transport/traffic.h"
#include "transport/transport.h"
#include "transport/transport_error.h"

namespace tandem::collectives {

using transport::append_value;
using transport::ByteBuffer;
using transport::Exchange;
using transport::first_cause;
using transport::Incoming;
using transport::Outgoing;
using transport::Payload;
using transport::plain_text;
using transport::Source;
using transport::Tag;
using transport::TrafficSnapshot;
using transport::Transport;
using transport::TransportError;

using sparse::accumulation_type;
using sparse::DenseVector;
using sparse::Domain;
using sparse::identity_of;
using sparse::Partition;
using sparse::reduce_values;
using sparse::Reduction;
using sparse::SparseVector;
using sparse::visit_type;
using sparse::visit_types;

}  // namespace tandem::collectives
