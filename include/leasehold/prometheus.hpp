// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leasehold/client.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace leasehold {

/// The figures of one client, for a page with those of several.
/// @ingroup ref_observation
struct client_figures {
  std::string client;                                ///< The value of the label `client` of its samples.
  statistics all;                                    ///< client::stats().
  std::map<std::string, class_statistics> by_class;  ///< client::stats_by_class().
};

/// The Content-Type of to_prometheus.
/// @ingroup ref_observation
inline constexpr std::string_view prometheus_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// The figures of a client in Prometheus's text format 0.0.4: counters, gauges and histograms in seconds, whose names
/// begin with `leasehold_` (docs/observability.md lists them). A class of locks is a label of the metrics whose names
/// begin with `leasehold_class_`.
///
/// Each metric is on a page once. For a program with several clients see below; metrics of the program's own can
/// follow.
/// @ingroup ref_observation
std::string to_prometheus(const client& c);

/// The same of snapshots. @throws exception error::invalid_option: the label of a class is not UTF-8; the text names
/// it.
/// @ingroup ref_observation
std::string to_prometheus(const statistics& all, const std::map<std::string, class_statistics>& by_class = {});

/// One page for several clients: every sample has the label `client`.
/// @throws exception error::invalid_option: two clients have the same label, or a label is not UTF-8; the text names
/// it.
/// @ingroup ref_observation
std::string to_prometheus(const std::vector<client_figures>& clients);

}  // namespace leasehold
