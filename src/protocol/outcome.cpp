// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "protocol/outcome.hpp"

#include <utility>

namespace leasehold::detail {

outcome refused(refusal why, std::string_view words) {
  outcome o;
  o.refused = why;
  o.words = words;
  return o;
}

outcome read_outcome(verb v, const reply& r) {
  if (r.is_error()) {
    outcome o = refused(classify(r.text(0)), r.text(0));
    o.may_have_written = may_have_written(o.words);
    return o;
  }
  outcome o;
  switch (v) {
    case verb::acquire:
    case verb::confirm:
    case verb::renew:
    case verb::refresh:
    case verb::want:
    case verb::downgrade:
    case verb::resize:
    case verb::raise: o.lease = lease_reply(r.text(0)); break;
    case verb::keep:
      o.lease = lease_reply(r.text(0));
      o.released = r.number(0) == 1;
      break;
    case verb::release:
    case verb::rest: o.released = r.number(0) == 1; break;
    case verb::inspect: o.inspected = std::make_shared<const inspection>(read_inspection(r)); break;
    case verb::acquire_all:
      o.lease = lease_reply(r.text(0));
      if (o.lease.understood && o.lease.status == status::held) o.scalars = &r;
      break;
    case verb::list:
    case verb::show:
    case verb::break_lock:
    case verb::proclaim:
    case verb::withdraw:
    case verb::leader:
    case verb::scan: o.scalars = &r; break;
  }
  return o;
}

}  // namespace leasehold::detail
