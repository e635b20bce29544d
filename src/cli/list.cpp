// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "list.hpp"

#include "lock_text.hpp"
#include "store.hpp"
#include "text.hpp"

#include <leasehold/admin.hpp>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <string>
#include <utility>
#include <vector>

namespace leasehold::cli {
namespace {

std::string in_json(const std::vector<listed_lock>& locks) {
  boost::json::array array;
  for (const auto& lock : locks) {
    boost::json::object object = as_json(lock.name, lock);
    add_details(object, lock);
    array.push_back(std::move(object));
  }
  return printable_json(boost::json::serialize(array)) + "\n";
}

std::string in_words(const std::vector<listed_lock>& locks) {
  std::string text;
  for (const auto& line : table(locks)) text += line + "\n";
  return text;
}

}  // namespace

int list(const list_options& wanted) {
  asio::io_context& context = lasting_context();
  const client store = connect(context, wanted.store);
  error_code failed;
  std::vector<listed_lock> locks;
  leasehold::list(store, [&](error_code ec, std::vector<listed_lock> answer) {
    failed = ec;
    locks = std::move(answer);
    store.close([&](error_code) { context.stop(); });
  });
  context.run();
  if (failed) throw describe(failed, store, wanted.store, wanted.store.prefix);
  print(wanted.json ? in_json(locks) : in_words(locks));
  return 0;
}

}  // namespace leasehold::cli
