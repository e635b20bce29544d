// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// The leasehold command: locks in Redis for shell scripts.
#include "break.hpp"
#include "complete.hpp"
#include "descriptors.hpp"
#include "exit_code.hpp"
#include "list.hpp"
#include "lock_text.hpp"
#include "options.hpp"
#include "run.hpp"
#include "status.hpp"
#include "text.hpp"
#include "ticket.hpp"
#include "watch.hpp"

#include <boost/system/system_error.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <variant>

#if defined(LEASEHOLD_STATIC) && defined(__GLIBC__)
#include <nss.h>
#endif

namespace {

// Without the place in Asio's sources where the error arose.
std::string text_of(const boost::system::system_error& e) {
  std::string text = e.what();
  if (const auto code = text.rfind(e.code().what()); code != text.npos)
    text.replace(code, text.npos, e.code().message());
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace leasehold::cli;
#if defined(LEASEHOLD_STATIC) && defined(__GLIBC__)
  // glibc would load the modules that nsswitch.conf names, and a static program can only load those of its own glibc.
  __nss_configure_lookup("hosts", "files dns");
#endif
  try {
    const inherited_descriptors inherited;
    const request wanted = parse_options({argv + 1, argv + argc});
    if (const auto* o = std::get_if<run_options>(&wanted)) return run(*o, inherited);
    if (const auto* o = std::get_if<status_options>(&wanted)) return status(*o);
    if (const auto* o = std::get_if<list_options>(&wanted)) return list(*o);
    if (const auto* o = std::get_if<watch_options>(&wanted)) return watch(*o);
    if (const auto* o = std::get_if<break_options>(&wanted)) return break_by_force(*o);
    if (const auto* o = std::get_if<acquire_command>(&wanted)) return acquire(*o);
    if (const auto* o = std::get_if<extend_options>(&wanted)) return extend(*o);
    if (const auto* o = std::get_if<release_options>(&wanted)) return release(*o);
    if (const auto* o = std::get_if<complete_options>(&wanted)) complete(*o);
    print(std::get<information>(wanted).text);
    return 0;
  } catch (const failure& f) {
    complain(f.what());
    return static_cast<int>(f.code());
  } catch (const boost::system::system_error& e) {  // Asio's.
    complain(text_of(e));
    return static_cast<int>(exit_code::system);
  } catch (const std::system_error& e) {
    complain(e.what());
    return static_cast<int>(exit_code::system);
  } catch (const std::exception& e) {
    complain(e.what());
    return static_cast<int>(exit_code::internal);
  }
}
