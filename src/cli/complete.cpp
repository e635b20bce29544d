// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "complete.hpp"

#include "candidates.hpp"
#include "password.hpp"
#include "store.hpp"

#include <leasehold/admin.hpp>
#include <leasehold/client.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace leasehold::cli {
namespace {

using namespace std::chrono_literals;

// The longest time for which a shell may stand still.
constexpr auto patience = 1s;

// The names of the locks that are held, as far as the store lists them in time.
std::vector<std::string> held_names(const store_options& given) {
  asio::io_context& context = lasting_context();
  std::vector<std::string> names;
  try {
    const store_options found = with_variables(given);
    // What is in a pipe is for the command, and there may be nothing.
    for (const auto& file : {found.urls.empty() ? found.file : "", found.password_file}) {
      if (!file.empty() && !std::filesystem::is_regular_file(file)) return names;
    }
    const store_options where = store_of(found);
    client_options settings;
    settings.prefix = where.prefix;
    settings.credentials = password_of(context, where);
    // There may be another one of several servers.
    const bool alone = where.urls.size() == 1 && where.urls[0].find(',') == std::string::npos;
    settings.observer = [alone, &context](const event& e) {
      if (alone && (e.what == event::kind::unreachable || e.what == event::kind::refused)) context.stop();
    };
    const client store(context, where.urls, settings);
    leasehold::list(store, [&](error_code, const std::vector<listed_lock>& locks) {
      for (const auto& lock : locks) names.push_back(lock.name);
      context.stop();
    });
    context.run_for(patience);
  } catch (const std::exception&) {
    // A URL that is not finished yet, or a file that is not there, for example.
  }
  return names;
}

void write(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::fwrite(text.data(), 1, text.size() + 1, stdout);
}

}  // namespace

void complete(const complete_options& wanted) {
  const completion a = complete_words(wanted.words, held_names);
  write(a.first);
  for (const auto& c : a.candidates) {
    std::fwrite(c.word.data(), 1, c.word.size() + 1, stdout);
    write(c.help);
  }
  std::fflush(stdout);
  std::_Exit(0);
}

}  // namespace leasehold::cli
