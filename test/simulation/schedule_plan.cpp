// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/one_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace leasehold::simulation {

using namespace std::chrono_literals;

namespace {

std::size_t servers_of(deployment d, std::uint64_t seed) {
  if (d == deployment::cluster) return 4;
  if (d != deployment::quorum) return 1;
  return seed % 4 != 0 ? 3 : seed % 8 != 0 ? 4 : 5;
}

}  // namespace

schedule::schedule(deployment d, std::uint64_t seed, reach& reached, bool with_history, const cut_down& without)
    : deployment_(d),
      seed_(seed),
      reached_(reached),
      with_history_(with_history),
      without_(without),
      dice_(seed, 0),
      world_(seed, servers_of(d, seed)) {
  plan();
}

void schedule::plan() {
  auto& d = dice_;
  const auto kinds = deployment_ == deployment::quorum ? 3 : 4;
  rules_.of = static_cast<kind>(d.between(0, kinds - 1));
  rules_.limit = static_cast<std::uint32_t>(d.between(1, 3));
  rules_.one_server = deployment_ != deployment::quorum;
  rules_.tagged = deployment_ == deployment::cluster || deployment_ == deployment::slots;
  const bool is_cluster = deployment_ == deployment::cluster;
  dice of_cluster(seed_, 6);
  rules_.lossy = deployment_ == deployment::failover || (is_cluster && of_cluster.chance(0.3));
  // Where the nodes' clocks differ a mutex is moved well; other kinds, and what a replica takes over,
  // have absolute times.
  clocks_agree_ = rules_.lossy || rules_.of != kind::mutex || of_cluster.chance(0.5);
  steps_ = rules_.one_server && !is_cluster && dice(seed_, 5).chance(0.2);
  if (d.chance(0.2)) world_.slowest = 50ms;
  if (d.chance(0.4)) world_.gathering = 2ms;
  // Then calls wait for others.
  if (dice of_room(seed_, 11); of_room.chance(0.1)) world_.most_calls = static_cast<std::size_t>(of_room.between(1, 4));
  ends_ = world_.now() + d.between(1s, 4s);
  longest_pause_ = d.chance(0.5) ? clock::duration(40ms) : clock::duration(500ms);
  longest_work_ = d.chance(0.5) ? clock::duration(40ms) : clock::duration(1500ms);
  if (seed_ % 8 == 1) {
    // A cohort passes a lock on for 10 ms.
    longest_pause_ = longest_work_ = 6ms;
    ends_ = world_.now() + d.between(200ms, 800ms);
  }
  shortest_lease_ = milliseconds(d.between(200, 1500));
  longest_lease_ = d.chance(0.5) ? shortest_lease_ : shortest_lease_ * 2;
  // Each attempt on a quorum is several scripts.
  workers_each_ = static_cast<std::size_t>(d.between(1, deployment_ == deployment::quorum ? 2 : 3));
  // Some have many mutexes, which are acquired and released in bundles.
  dice of_bundles(seed_, 7);
  const bool bundles = rules_.one_server && !is_cluster && of_bundles.chance(0.12);
  if (bundles) {
    rules_.of = kind::mutex;
    workers_each_ = 3;
    longest_pause_ = longest_work_ = 6ms;
    world_.gathering = of_bundles.between(2ms, 10ms);
    ends_ = world_.now() + of_bundles.between(200ms, 1s);
  }
  const auto names = bundles ? of_bundles.between(3, 6) : d.between(1, 2);
  for (std::int64_t i = 0; i < names; ++i) names_.push_back(fmt::format("n{}", i));
  for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
    world_.clock_of_server(i) = {d.between(-10s, 10s), d.between(-3000, 3000)};
    if (is_cluster && clocks_agree_) world_.clock_of_server(i) = world_.clock_of_server(0);
    world_.server(i).replicas = deployment_ == deployment::failover ? 1 : 0;
    world_.server(i).replicas_that_answer = world_.server(i).replicas;
    // An eighth of them, of all classes: seed_ % 8 decides on the number of servers, and on long cohorts.
    const bool counts = with_history_ || seed_ / 8 % 8 == 0;
    const bool notes = deployment_ == deployment::quorum || steps_;
    if (counts || notes) {
      world_.server(i).on_run = [this, i, counts, notes](const detail::script& s,
                                                         const std::vector<std::string_view>& arguments,
                                                         const detail::memory::reply& r) {
        each_request(s, arguments, r,
                     [&](const std::vector<std::string_view>& words, const detail::memory::reply& one) {
                       if (notes) note_call(i, words, one);
                       if (counts) count_calls(s, words, one);
                     });
        if (!with_history_) return;
        std::string all;
        for (const auto& a : arguments) all += fmt::format(" {}", a);
        note(fmt::format("server {}", i), fmt::format("{}{} -> {}{}", s.name, all, r.text, r.integer));
      };
    }
  }
  // Pauses that do not grow keep the judge's limits short.
  backoff pauses{.first = 20ms, .max = 1000ms, .factor = 1.0, .jitter = 0.5};
  if (dice(seed_, 13).chance(0.5)) {
    pauses = {.first = 20ms, .max = longest_pause_between_connections / 4, .factor = 2.0, .jitter = 0.5};
    world_.longest_reconnection = longest_pause_between_connections;
  }
  const auto processes =
      static_cast<std::size_t>(d.between(2, deployment_ == deployment::quorum && d.chance(0.7) ? 2 : 3));
  for (std::size_t i = 0; i < processes; ++i) {
    client_options o;
    o.label = fmt::format("p{}", i);
    o.cohort = d.chance(0.5) ? 0us : 10ms;
    o.command_timeout = milliseconds(d.between(300, 2000));
    o.connect_timeout = milliseconds(d.between(300, 2000));
    o.idle_timeout = d.chance(0.3) ? milliseconds(d.between(5, 500)) : milliseconds(10000);
    o.restart_delay = 2 * longest_lease_ + 1s;
    o.reconnect = pauses;
    client_options_.push_back(o);
    lingers_.push_back(0ms);
    clocks_.push_back({d.between(0s, 100s), d.between(-3000, 3000)});
  }
  was_stepped_.resize(world_.number_of_servers());
  plan_faults();
  if (deployment_ == deployment::quorum) plan_ambushes();
  if (is_cluster) plan_cluster();
  // One address whose server checks slots: clients find that out.
  if (deployment_ == deployment::slots) slots_.emplace(std::vector<detail::memory::server*>{&world_.server(0)}, 1);
  longest_pause_of_others_ = longest_pause_;
  dice of_rests(seed_, 12);
  if (of_rests.chance(0.15)) longest_rest_ = milliseconds(of_rests.chance(0.5) ? 300 : 3000);
  if (rules_.one_server) plan_more();
  plan_lingering();
  plan_uses();
  plan_partitions();
  plan_slow_scripts();
}

// Choices of their own, which leave all others as they are.
void schedule::plan_more() {
  dice d(seed_, 4);
  // Longer than most commands may take: later than the not-after of what was sent.
  if (d.chance(0.3)) world_.latest = 4s;
  // Long cohorts, whose fences are asked for ahead of time.
  if (seed_ % 8 == 1) {
    const auto cohort = d.chance(0.5) ? 10ms : 100ms;
    world_.slowest = d.chance(0.5) ? clock::duration(500us) : cohort / 4;
    longest_work_ = 1ms;
    // Another waiter of the client is nearly always there, and those of other clients are at times only.
    if (d.chance(0.7)) {
      longest_pause_ = 500us;
      longest_pause_of_others_ = 200ms;
      rules_.of = kind::mutex;
    }
    workers_each_ = 3;
    for (auto& o : client_options_) o.cohort = cohort;
  }
  for (const auto& o : client_options_) rules_.cohort = std::max<clock::duration>(rules_.cohort, o.cohort);
  if (steps_) {
    dice own(seed_, 5);
    own.chance(0.2);
    fault f;
    f.when = own.between(clock::duration(0), ends_ - world_.now());
    const auto step = own.between(clock::duration(1s), clock::duration(4s));
    f.what = fmt::format("the clock of the server is stepped forward by {} ms", step / 1ms);
    f.strike = [this, step] { step_forward(0, step); };
    faults_.push_back(std::move(f));
  }
  if (deployment_ == deployment::failover && d.chance(0.3)) {
    fault f;
    f.when = d.between(0s, ends_ - world_.now());
    f.what = "somebody deletes n0";
    f.strike = [this] {
      judge_->data_were_lost();
      world_.server(0).data().execute({"DEL", "n0"});
    };
    faults_.push_back(std::move(f));
  }
}

// Choices of their own: in a third of the schedules of mutexes, some processes linger.
void schedule::plan_lingering() {
  dice d(seed_, 8);
  if (rules_.of != kind::mutex || !rules_.one_server || !d.chance(0.4)) return;
  const auto longest = d.chance(0.5) ? 20ms : 400ms;
  for (auto& l : lingers_) {
    if (d.chance(0.7)) l = milliseconds(d.between(1, longest / 1ms));
    rules_.linger = std::max<clock::duration>(rules_.linger, l);
  }
  // One of them comes again soon, and the others now and then.
  if (d.chance(0.5)) {
    longest_pause_ = std::min<clock::duration>(longest_pause_, 3ms);
    longest_work_ = std::min<clock::duration>(longest_work_, 3ms);
  }
}

// Choices of their own, which leave all others as they are: what is done with holds.
void schedule::plan_uses() {
  dice d(seed_, 9);
  const bool is_mutex = rules_.of == kind::mutex && rules_.one_server;
  const bool elects = is_mutex && d.chance(0.25);
  detaches_ = d.chance(0.25);
  asks_ = is_mutex && d.chance(0.25);
  rules_.messages = elects || asks_;
  rules_.names = names_;
  rules_.rests = longest_rest_ != 0ms;
  rules_.clocks_differ = deployment_ == deployment::cluster && !clocks_agree_;
  judge_.emplace(world_, rules_);
  if (elects) elections_.emplace(world_, *judge_, reached_);
}

// Choices of their own: some processes cannot reach some servers for a while, or are not reached by them, and others
// can.
void schedule::plan_partitions() {
  dice d(seed_, 10);
  if (!d.chance(0.25)) return;
  world_.has_ways = true;
  const auto length = ends_ - world_.now();
  for (auto n = d.between(1, 4); n > 0; --n) {
    const auto i = static_cast<std::size_t>(d.between(0, std::int64_t(client_options_.size()) - 1));
    const auto from = static_cast<std::size_t>(d.between(0, std::int64_t(world_.number_of_servers()) - 1));
    const auto how = d.between(0, 2);
    const auto for_how_long = d.between(1ms, d.chance(0.5) ? 300ms : 3s);
    fault f;
    f.when = d.between(clock::duration(0), length);
    f.what = fmt::format("for {} ms no message arrives {}", for_how_long / 1ms,
                         how == 0   ? fmt::format("at server {} from p{}", from, i)
                         : how == 1 ? fmt::format("at p{} from server {}", i, from)
                                    : fmt::format("between p{} and server {}", i, from));
    f.strike = [this, i, from, how, for_how_long] {
      const auto its = processes_[i]->way_to(world_.server(from));
      its->close(how != 1, how != 0);
      closed_.push_back(its);
      world_.after(for_how_long, [its] { its->open(); });
    };
    f.end = [this] {
      for (const auto& one : std::exchange(closed_, {})) one->open();
    };
    faults_.push_back(std::move(f));
  }
}

// Choices of their own: a script of another program runs for too long, and the server refuses all others.
void schedule::plan_slow_scripts() {
  dice d(seed_, 11);
  if (!d.chance(0.15)) return;
  for (auto n = d.between(1, 3); n > 0; --n) {
    const auto i = static_cast<std::size_t>(d.between(0, std::int64_t(world_.number_of_servers()) - 1));
    const auto for_how_long = d.between(1ms, d.chance(0.5) ? 100ms : 2s);
    fault f;
    f.when = d.between(clock::duration(0), ends_ - world_.now());
    f.what = fmt::format("server {} is busy with a script for {} ms", i, for_how_long / 1ms);
    f.strike = [this, i, for_how_long] {
      world_.server(i).is_busy = true;
      world_.after(for_how_long, [this, i] { world_.server(i).is_busy = false; });
    };
    f.end = [this, i] { world_.server(i).is_busy = false; };
    faults_.push_back(std::move(f));
  }
}

// Which of them break no promise: a server's clock that is stepped forward and lost data make a schedule lossy.
void schedule::plan_faults() {
  dice d(seed_, 3);
  const bool is_calm = d.chance(0.1);
  const auto number = is_calm ? 0 : d.between(1, 10);
  const auto length = ends_ - world_.now();
  const auto any_process = [this, &d] {
    return static_cast<std::size_t>(d.between(0, std::int64_t(client_options_.size()) - 1));
  };
  const auto any_server = [this, &d] {
    return static_cast<std::size_t>(d.between(0, std::int64_t(world_.number_of_servers()) - 1));
  };
  for (std::int64_t n = 0; n < number; ++n) {
    fault f;
    f.when = d.between(0s, length);
    const auto for_how_long = d.between(1ms, 3s);
    switch (d.between(0, 11)) {
      case 0:
      case 1:
      case 2: {
        const auto i = any_process();
        f.what = fmt::format("the connections of p{} are cut", i);
        f.strike = [this, i] { processes_[i]->cut_connections(); };
        break;
      }
      case 3: {
        const auto i = any_server();
        f.what = fmt::format("server {} stands still for {} ms", i, for_how_long / 1ms);
        f.strike = [this, i, for_how_long] {
          world_.server(i).freeze();
          world_.after(for_how_long, [this, i] { world_.server(i).thaw(); });
        };
        f.end = [this, i] { world_.server(i).thaw(); };
        break;
      }
      case 4: {
        const auto i = any_process();
        f.what = fmt::format("p{} stands still for {} ms", i, for_how_long / 1ms);
        f.strike = [this, i, for_how_long] {
          processes_[i]->freeze();
          world_.after(for_how_long, [p = std::weak_ptr(processes_[i])] {
            if (const auto one = p.lock()) one->thaw();
          });
        };
        f.end = [this, i] { processes_[i]->thaw(); };
        break;
      }
      case 5: {
        const auto i = any_process();
        f.what = fmt::format("p{} dies, and another takes its place", i);
        f.strike = [this, i] {
          judge_->forget(*processes_[i]);
          count_client(*processes_[i]);
          processes_[i]->die();
          dead_.push_back(processes_[i]);
          at_work_ -= std::exchange(at_work_in_[i], 0);
          make_process(i);
          if (!is_over()) start_workers(i);
        };
        break;
      }
      case 6: {
        const auto i = any_server();
        // No more than a minority forgets.
        const bool keeps = rules_.one_server || i >= (world_.number_of_servers() - 1) / 2 || d.chance(0.5);
        f.what = fmt::format("server {} ends, and starts again after {} ms {}", i, for_how_long / 1ms,
                             keeps ? "with its data" : "empty");
        f.strike = [this, i, for_how_long, keeps] {
          auto& s = world_.server(i);
          if (!s.is_up()) return;
          const auto data = std::make_shared<detail::memory::database>(keeps ? s.data() : detail::memory::database());
          if (!keeps) judge_->note_loss();
          s.kill();
          world_.after(for_how_long, [this, i, &s, data, ended = s.run_id()] {
            if (cluster_ && cluster_->is_being_replaced(i)) return;
            if (!s.is_up() && s.run_id() == ended) s.start(std::move(*data));
          });
        };
        break;
      }
      case 7: {
        const auto i = any_server();
        f.what = fmt::format("server {} forgets its scripts", i);
        f.strike = [this, i] { world_.server(i).forget_scripts(); };
        break;
      }
      case 8: {
        // Behind the fences of the one before, a new master's fences need not grow.
        if (rules_.lossy || (deployment_ == deployment::cluster && clocks_agree_)) continue;
        const auto i = any_server();
        const auto step = d.between(1ms, 5s);
        f.what = fmt::format("the clock of server {} is set back by {} ms", i, step / 1ms);
        f.strike = [this, i, step] {
          if (was_stepped_[i]) return;
          world_.clock_of_server(i).offset -= step;
          was_set_back_ = true;
          judge_->note_set_back();
        };
        break;
      }
      case 9: {
        f.what = "the network becomes slow";
        f.strike = [this] { world_.slowest = slow_network; };
        f.end = [this] { world_.slowest = 2ms; };
        break;
      }
      case 10: {
        const auto i = any_server();
        f.what = fmt::format("server {} is out of memory for {} ms", i, for_how_long / 1ms);
        f.strike = [this, i, for_how_long] {
          world_.server(i).data().set_out_of_memory(true);
          world_.after(for_how_long, [this, i] { world_.server(i).data().set_out_of_memory(false); });
        };
        f.end = [this, i] { world_.server(i).data().set_out_of_memory(false); };
        break;
      }
      default: {
        if (deployment_ != deployment::failover) continue;
        // The replica has stopped some time before.
        const auto lag = d.between(0ms, 500ms);
        f.what = fmt::format("a replica takes over that is {} ms behind", lag / 1ms);
        f.strike = [this, lag] {
          auto& s = world_.server(0);
          if (s.replicas_that_answer == 0) return;  // Another one is about to take over.
          const auto older = std::make_shared<detail::memory::database>(s.data());
          s.replicas_that_answer = 0;
          world_.after(lag, [this, &s, older] {
            s.start(std::move(*older));
            s.replicas_that_answer = s.replicas;
            judge_->replica_took_over();
          });
        };
        break;
      }
    }
    faults_.push_back(std::move(f));
  }
}

void schedule::plan_ambushes() {
  dice d(seed_, 4);
  const auto length = ends_ - world_.now();
  for (auto n = d.between(0, 3); n > 0; --n) {
    auto f = d.chance(0.6) ? at_a_bare_grant(d) : at_a_raise(d);
    f.when = d.between(clock::duration(0), length);
    faults_.push_back(std::move(f));
  }
}

// Another program has the lock on a minority, so that a grant has a bare majority. Then one server of that majority
// forgets it, or steps its clock, and the other program's part is free.
schedule::fault schedule::at_a_bare_grant(dice& d) {
  const auto servers = world_.number_of_servers();
  const auto forgetful = static_cast<std::size_t>(d.between(0, std::int64_t(servers - 1) / 2 - 1));
  std::vector<std::size_t> busy;
  for (std::size_t i = servers; i-- > 0 && busy.size() < servers - servers / 2 - 1;) {
    if (i != forgetful) busy.push_back(i);
  }
  const auto name = names_[static_cast<std::size_t>(d.between(0, std::int64_t(names_.size()) - 1))];
  const auto for_how_long = d.between(50ms, 600ms);
  const bool steps = d.chance(0.4);
  const auto delay = d.between(clock::duration(0), clock::duration(20ms)), down = d.between(1ms, 30ms);
  const auto step = d.between(300ms, 3s);
  const bool freezes = d.chance(0.7);
  fault f;
  f.what = fmt::format("another program takes {} on a minority for {} ms; when it is granted, server {} {}", name,
                       for_how_long / 1ms, forgetful, steps ? "steps its clock" : "forgets");
  f.strike = [=, this] {
    for (const auto i : busy) {
      auto& s = world_.server(i);
      if (s.is_up()) s.execute({"SET", name, "another program", "NX", "PX", std::to_string(for_how_long / 1ms)});
    }
    world_.after(for_how_long, [this] { at_grant_ = nullptr; });
    at_grant_ = [=, this](const std::shared_ptr<held>& h, const std::shared_ptr<process>& p) {
      if (h->name != name) return;
      world_.after(delay, [=, this, weak = std::weak_ptr(p)] {
        const auto holder = weak.lock();
        auto& s = world_.server(forgetful);
        if (!holder || holder->is_dead() || is_over() || !s.is_up()) return;
        note("fault", fmt::format("server {} {}", forgetful, steps ? "steps its clock" : "forgets"));
        for (const auto i : busy) {
          auto& other = world_.server(i);
          if (other.execute({"GET", name}).text == "another program") other.execute({"DEL", name});
        }
        if (steps) return step_forward(forgetful, step);
        judge_->note_loss();
        s.kill();
        world_.after(down, [&s, ended = s.run_id()] {
          if (!s.is_up() && s.run_id() == ended) s.start({});
        });
        if (!freezes) return;
        holder->freeze();
        world_.after(h->options.lease, [weak] {
          if (const auto one = weak.lock()) one->thaw();
        });
      });
      at_grant_ = nullptr;
    };
  };
  f.end = [this] {
    for (const auto& p : processes_) p->thaw();
  };
  return f;
}

// A fence is written back on one server, and on its way to the others the connections break.
// Then the one server is away.
schedule::fault schedule::at_a_raise(dice& d) {
  const auto delay = d.between(clock::duration(0), clock::duration(20ms)),
             away = d.between(clock::duration(50ms), clock::duration(2s));
  fault f;
  f.what = "at the next raise on a server the connections to the others break, and it stands still";
  f.strike = [=, this] {
    at_raise_ = [=, this](std::size_t raised) {
      at_raise_ = nullptr;
      for (std::size_t i = 0; i < world_.number_of_servers(); ++i) {
        if (i != raised) world_.server(i).close_connections();
      }
      world_.after(delay, [=, this] {
        if (is_over()) return;
        note("fault", fmt::format("server {} stands still for {} ms", raised, away / 1ms));
        world_.server(raised).freeze();
        world_.after(away, [=, this] { world_.server(raised).thaw(); });
      });
    };
  };
  f.end = [this] {
    for (std::size_t i = 0; i < world_.number_of_servers(); ++i) world_.server(i).thaw();
  };
  return f;
}

// Choices of their own. The last server is the spare.
void schedule::plan_cluster() {
  world_.make_cluster(world_.number_of_servers() - 1);
  cluster_.emplace(world_, [this](const std::string& what) { note("cluster", what); });
  dice d(seed_, 7);
  const auto length = ends_ - world_.now();
  for (auto n = d.between(1, 6); n > 0; --n) {
    fault f;
    f.when = d.between(clock::duration(0), length);
    const auto pause = d.between(clock::duration(0), d.chance(0.5) ? clock::duration(3ms) : clock::duration(100ms));
    if (d.chance(0.7) || !clocks_agree_) {
      const auto name = names_[static_cast<std::size_t>(d.between(0, std::int64_t(names_.size()) - 1))];
      const auto to = static_cast<std::size_t>(d.between(0, std::int64_t(world_.number_of_servers()) - 1));
      f.what = fmt::format("{} should go to server {}", name, to);
      f.strike = [=, this] { cluster_->move(name, to, pause); };
    } else if (d.chance(0.3)) {
      f.what = fmt::format("the cluster is down for {} ms", pause / 1ms);
      f.strike = [=, this] { cluster_->refuse(pause); };
    } else {
      const cluster_events::failover how{
          static_cast<std::size_t>(d.between(0, std::int64_t(world_.number_of_servers()) - 1)),
          rules_.lossy ? d.between(clock::duration(0), clock::duration(500ms)) : clock::duration(0),
          d.between(clock::duration(0), clock::duration(1s)), pause};
      f.what = fmt::format("a replica of server {} takes over", how.from);
      f.strike = [=, this] { cluster_->fail_over(how, [this] { judge_->replica_took_over(); }); };
    }
    faults_.push_back(std::move(f));
  }
}

void schedule::step_forward(std::size_t server, clock::duration step) {
  // A step that is shorter than a round trip is not seen.
  if (world_.slowest > 2ms) step += 1s;
  // The restart delay rests on a clock that was not stepped since the server was started.
  if (deployment_ == deployment::quorum && world_.server(server).uptime() < 30min) return;
  was_stepped_[server] = true;
  world_.clock_of_server(server).offset += step;
  judge_->note_step(server);
}

}  // namespace leasehold::simulation
