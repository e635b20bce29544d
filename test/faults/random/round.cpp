// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "faults/random/round.hpp"

#include "faults/random/deployment.hpp"
#include "faults/random/worker.hpp"
#include "support/limit.hpp"
#include "support/temporary_folder.hpp"

#include <csignal>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct client_process {
  std::string notes;
  process_history seen;
  std::unique_ptr<child> process;
};

class one_round {
 public:
  one_round(const std::string& kind, std::uint64_t seed) : dice_(seed), deployment_(make_deployment(kind, dice_)) {
    for (int i = 0; i < 3; ++i) begin_client();
    roles_ = deployment_->roles();
  }

  judgement run(milliseconds length) {
    const auto end = std::chrono::steady_clock::now() + length;
    while (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(dice_.between(0ms, 500ms));
      one_fault();
    }
    end_clients();
    std::vector<process_history> all;
    for (auto& c : clients_) {
      c.seen.read(c.notes);
      all.push_back(std::move(c.seen));
    }
    excuses_.quorum = deployment_->urls().size() > 1;
    judgement j = judge(all, excuses_);
    for (const auto& [what, n] : faults_) j.counts["fault: " + what] += n;
    for (const auto& w : broken_) j.violations.push_back(w);
    nothing_left(j);
    if (!j.violations.empty()) j.violations.push_back(what_was_done());
    return j;
  }

 private:
  void begin_client() {
    client_process c;
    c.seen.name = "client" + std::to_string(clients_.size());
    c.notes = folder_ / c.seen.name;
    std::vector<std::string> arguments{c.notes, std::to_string(dice_.number()),
                                       deployment_->semaphores() ? "semaphores" : "-"};
    for (const auto& url : deployment_->urls()) arguments.push_back(url);
    c.process = std::make_unique<child>(worker.command(arguments));
    if (c.process->read_line() != "begun") throw std::runtime_error(c.process->errors());
    clients_.push_back(std::move(c));
  }

  client_process& a_client() {
    for (;;) {
      client_process& c = clients_[dice_.below(clients_.size())];
      if (c.process) return c;
    }
  }

  void one_fault() {
    const auto roll = dice_.below(8);
    const bool of_servers = roll < 6;
    const bool of_clients = roll >= 5;
    fault f;
    if (of_servers) f = deployment_->any_fault(dice_);
    client_process* c = of_clients ? &a_client() : nullptr;
    const bool dies = of_clients && dice_.one_in(4);
    const milliseconds frozen = of_clients ? dice_.between(50ms, longest_lease + 1000ms) : 0ms;

    const instant begun = now_noted();
    if (c) {
      ++faults_[dies ? "kill a client" : "freeze a client"];
      log_.push_back({begun, std::string(dies ? "kill " : "freeze ") + c->seen.name});
      if (dies) {
        c->seen.killed = now_noted();
        c->process->signal(SIGKILL);
        c->process->wait();
        c->process.reset();
      } else {
        c->process->stop();
      }
    }
    if (of_servers) {
      ++faults_[f.name];
      const instant injected = now_noted();
      log_.push_back({injected, f.name});
      f.inject();
      std::this_thread::sleep_for(f.lasts);
      f.heal();
      const instant healed = now_noted();
      log_.push_back({healed, f.name + ", healed"});
      if (f.forward > 0ms) excuses_.steps.push_back({{injected, healed}, std::chrono::nanoseconds(f.forward).count()});
      deployment_->wait_until_ok();
    }
    if (c && dies) begin_client();
    if (c && !dies) {
      const auto passed = milliseconds((now_noted() - begun) / 1000000);
      if (passed < frozen) std::this_thread::sleep_for(frozen - passed);
      c->process->signal(SIGCONT);
      log_.push_back({now_noted(), "thaw " + c->seen.name});
    }
    check(f);
  }

  // What the servers may have lost since the last check.
  void check(const fault& f) {
    const std::string roles = deployment_->roles();
    // By the command of an operator nothing is lost in a cluster: the old master waits for the new one.
    const bool by_itself = roles != roles_ && f.name != "fail over by command";
    if (f.loses || by_itself) excuses_.losing.push_back({checked_, now_noted()});
    if (f.forgets) excuses_.forgetting.push_back({checked_, now_noted()});
    if (by_itself) ++faults_["(the roles changed)"];
    roles_ = roles;
    checked_ = now_noted();
  }

  void end_clients() {
    deployment_->wait_until_ok();
    for (auto& c : clients_) {
      if (c.process) c.process->signal(SIGTERM);
    }
    for (auto& c : clients_) {
      if (!c.process) continue;
      try {
        if (const int status = c.process->wait(); status != 0) {
          broken_.push_back(c.seen.name + " ended with status " + std::to_string(status) + ": " + c.process->errors());
        }
      } catch (const std::runtime_error&) {
        broken_.push_back(c.seen.name + " did not end");
        c.process.reset();
      }
    }
    check({});
  }

  // A queue's keys stay for a minute after the last poll of a client that was killed; a record as long as its lease.
  void nothing_left(judgement& j) {
    const auto records = [&] {
      std::vector<std::string> all;
      for (redis_server* s : deployment_->servers()) {
        for (const auto& key : s->command("KEYS", "*").items) {
          if (!key.text.starts_with("leasehold:")) all.push_back(key.text);
        }
      }
      return all;
    };
    const milliseconds more = 1s + deployment_->stepped_back();
    for (redis_server* s : deployment_->servers()) {
      for (const auto& key : s->command("KEYS", "*").items) {
        const bool counter = key.text.starts_with("leasehold:") && key.text.ends_with("fence");
        const milliseconds most = (counter ? 48h : key.text.starts_with("leasehold:") ? 60s : longest_lease) + more;
        const milliseconds left(s->ttl(key.text));
        if (left == -2ms || (left >= 0ms && left <= most)) continue;
        j.violations.push_back("stays for " + std::to_string(left.count()) + " ms: " + key.text);
      }
    }
    try {
      wait_until("all records disappear", [&] { return records().empty(); });
    } catch (const std::runtime_error& e) {
      j.violations.push_back(e.what() + (": " + records().front()));
    }
  }

  std::string what_was_done() const {
    std::string text = "what was done:";
    for (const auto& [at, what] : log_) text += "\n  " + shown(at) + " " + what;
    for (const span& s : excuses_.losing)
      text += "\n  grants may have been lost from " + shown(s.from) + " to " + shown(s.to);
    return text;
  }

  dice dice_;
  temporary_folder folder_;
  std::unique_ptr<deployment> deployment_;
  std::vector<client_process> clients_;
  std::string roles_;
  instant checked_ = now_noted();
  excuses excuses_;
  std::map<std::string, std::uint64_t> faults_;
  std::vector<std::pair<instant, std::string>> log_;
  std::vector<std::string> broken_;
};

}  // namespace

judgement run_round(const std::string& deployment, std::uint64_t seed, milliseconds length) {
  return one_round(deployment, seed).run(length);
}

}  // namespace leasehold::test
