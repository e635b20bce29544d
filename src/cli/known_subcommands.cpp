// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "known_subcommands.hpp"

#include "grammar.hpp"

#include <utility>

namespace leasehold::cli {
namespace {

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

}  // namespace

std::vector<known_subcommand> known_subcommands() {
  const grammar g;
  const std::vector<const CLI::App*> apps{&g.app,     &g.run,    &g.status,  &g.list,    &g.watch,
                                          &g.acquire, &g.extend, &g.release, &g.by_force};
  std::vector<known_subcommand> all;
  for (const CLI::App* app : apps) {
    known_subcommand known{app->get_parent() ? app->get_name() : "",
                           app->get_description(),
                           app->get_option_no_throw("NAME") != nullptr,
                           {}};
    for (const CLI::Option* option : app->get_options()) {
      if (!option->nonpositional()) continue;
      const bool takes_value = option->get_items_expected_max() > 0;
      known_option o{names_of(*option), takes_value ? option->get_type_name() : "", option->get_description(), {}};
      // One more URL is one more server of a quorum; of other options the last one counts.
      if (o.value != "URL") o.excludes = o.names;
      for (const CLI::Option* other : option->get_excludes()) {
        const auto names = names_of(*other);
        o.excludes.insert(o.excludes.end(), names.begin(), names.end());
      }
      known.options.push_back(std::move(o));
    }
    all.push_back(std::move(known));
  }
  return all;
}

}  // namespace leasehold::cli
