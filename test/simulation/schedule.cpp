// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "simulation/schedule.hpp"

#include "simulation/cluster_events.hpp"
#include "simulation/elections.hpp"

#include <leasehold/acquire_all.hpp>
#include <leasehold/counting_semaphore.hpp>
#include <leasehold/election.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>
#include <leasehold/ticket.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>

namespace leasehold::simulation {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

std::string text_of(const error_code& ec) { return ec ? ec.message() : "done"; }

using any_lock = std::variant<mutex, recursive_mutex, counting_semaphore, shared_mutex, shared_mutex::reader_side>;

class schedule {
 public:
  schedule(deployment d, std::uint64_t seed, reach& reached, bool with_history, const cut_down& without);

  outcome run();

 private:
  struct fault {
    clock::duration when;
    std::string what;
    std::function<void()> strike;
    std::function<void()> end;  // Called when faults stop, if the fault lasts.
  };

  void plan();
  void plan_faults();
  // On a quorum: these wait for the instant at which they are worst.
  void plan_ambushes();
  fault at_a_bare_grant(dice&);
  fault at_a_raise(dice&);
  void step_forward(std::size_t server, clock::duration);
  void plan_more();
  void plan_lingering();
  void plan_uses();
  void plan_cluster();
  void make_process(std::size_t i);
  void start_workers(std::size_t i);
  asio::awaitable<void> work(std::size_t i, std::size_t worker, std::shared_ptr<process> p);
  // Choices that only some schedules make are `own`.
  asio::awaitable<void> use(dice& d, dice& own, process& p, const std::string& who, std::shared_ptr<held> h,
                            bool writer);
  // acquire_all of every name.
  asio::awaitable<void> use_all(dice& d, process& p, std::size_t i, const std::string& who);
  // What the holder of a mutex does meanwhile; says whether he knows that another client waits.
  asio::awaitable<void> wait_for_others(process& p, std::shared_ptr<held> h, clock::duration longest);
  asio::awaitable<void> proclaim(std::shared_ptr<held> h);
  // Says whether it is detached.
  asio::awaitable<bool> detach(dice& own, std::shared_ptr<held> h);
  // Goes on with one of the tickets.
  asio::awaitable<void> resume(dice& d, dice& own, process& p, const std::string& who);
  asio::awaitable<void> watch(std::shared_ptr<held> h);
  any_lock lock_of(process& p, const std::string& name, bool reader, const std::string& owner) const;
  acquire_options options(dice&, std::size_t process) const;
  void stop_faults();
  void note(std::string_view who, const std::string& what);
  void count(std::string_view what) { ++reached_[std::string(what)]; }
  static void each_request(
      const detail::script&, const std::vector<std::string_view>& arguments, const detail::memory::reply&,
      const std::function<void(const std::vector<std::string_view>&, const detail::memory::reply&)>&);
  void note_call(std::size_t server, const std::vector<std::string_view>& arguments, const detail::memory::reply&);
  void count_calls(const detail::script&, const std::vector<std::string_view>& arguments, const detail::memory::reply&);
  void count_client(process&);
  // What its client says of itself is what its user has seen.
  void check_statistics(process&) const;
  bool is_over() { return world_.now() >= ends_; }

  // A hold that was detached.
  struct parked {
    std::shared_ptr<held> before;
    std::string ticket;
    std::uint64_t fence;
    milliseconds lease;
  };

  const deployment deployment_;
  const std::uint64_t seed_;
  reach& reached_;
  const bool with_history_;
  const cut_down& without_;
  dice dice_;
  world world_;
  std::optional<detail::memory::cluster> slots_;  // Which the only server checks.
  std::optional<cluster_events> cluster_;
  judge::rules rules_;
  std::optional<judge> judge_;
  clock::time_point ends_;
  clock::duration longest_pause_{}, longest_pause_of_others_{}, longest_work_{};
  milliseconds shortest_lease_{}, longest_lease_{};
  milliseconds longest_rest_{};  // acquire_options::at_least; 0: nobody asks for that.
  std::size_t workers_each_ = 1;
  std::vector<std::string> names_;
  std::vector<client_options> client_options_;
  std::vector<milliseconds> lingers_;  // By the number of the process.
  std::vector<skewed_clock> clocks_;
  std::vector<std::shared_ptr<process>> processes_;
  std::vector<std::shared_ptr<process>> dead_;
  struct seen {
    std::uint64_t acquired = 0, timed_out = 0, cancelled = 0, lost = 0;
    bool all = false;  // It has called acquire_all.
  };
  std::map<const process*, seen> seen_;
  std::optional<elections> elections_;  // The mutexes are those of elections.
  bool leaves_values_ = false;          // What a leader has proclaimed whose end the server was not told of.
  bool detaches_ = false;               // Some holds are detached, and any process resumes them.
  bool asks_ = false;                   // Some holders wait until another client wants the lock.
  std::deque<parked> parked_;
  std::vector<fault> faults_;
  std::function<void(const std::shared_ptr<held>&, const std::shared_ptr<process>&)> at_grant_;
  std::function<void(std::size_t server)> at_raise_;
  bool clocks_agree_ = true;       // Those of a cluster's nodes.
  bool steps_ = false;             // The clock of the one server is stepped forward.
  std::vector<bool> was_stepped_;  // Forward, by the number of the server.
  std::size_t at_work_ = 0;
  std::vector<std::size_t> at_work_in_;  // By the number of the process.
  bool was_set_back_ = false;            // A server's clock: what was delayed then may be left until its lease ends.
  std::exception_ptr failure_;
  std::vector<std::string> history_;
};

std::size_t servers_of(deployment d, std::uint64_t seed) {
  if (d == deployment::cluster) return 4;
  if (d != deployment::quorum) return 1;
  return seed % 4 != 0 ? 3 : seed % 8 != 0 ? 4 : 5;
}

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
    const bool counts = with_history_ || seed_ % 8 == 0;
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
  dice of_rests(seed_, 8);
  if (of_rests.chance(0.15)) longest_rest_ = milliseconds(of_rests.chance(0.5) ? 300 : 3000);
  if (rules_.one_server) plan_more();
  plan_lingering();
  plan_uses();
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
  rules_.names = names_;
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
  if (rules_.messages) rules_.names = names_;
  judge_.emplace(world_, rules_);
  if (elects) elections_.emplace(world_, *judge_, reached_);
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
          world_.after(for_how_long, [this, i, p = std::weak_ptr(processes_[i])] {
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
        f.strike = [this] { world_.slowest = 300ms; };
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

void schedule::make_process(std::size_t i) {
  processes_.resize(std::max(processes_.size(), i + 1));
  at_work_in_.resize(processes_.size());
  processes_[i] = std::make_shared<process>(world_, fmt::format("p{}", i), clocks_[i], client_options_[i]);
  if (!elections_) return;
  for (const auto& name : names_) {
    if ((seed_ / 16 + i) % 3 != 0) elections_->follow(*processes_[i], name);
  }
}

void schedule::start_workers(std::size_t i) {
  for (std::size_t w = 0; w < workers_each_; ++w) {
    ++at_work_;
    ++at_work_in_[i];
    asio::co_spawn(processes_[i]->executor(), work(i, w, processes_[i]), [this, i](const std::exception_ptr& e) {
      --at_work_;
      --at_work_in_[i];
      if (e && !failure_) failure_ = e;
    });
  }
}

any_lock schedule::lock_of(process& p, const std::string& name, bool reader, const std::string& owner) const {
  switch (rules_.of) {
    case kind::mutex: return mutex(p.client(), name);
    case kind::recursive_mutex: return recursive_mutex(p.client(), name, owner);
    case kind::counting_semaphore: return counting_semaphore(p.client(), name, rules_.limit);
    case kind::shared_mutex: break;
  }
  const shared_mutex both(p.client(), name);
  if (reader) return both.shared();
  return both;
}

acquire_options schedule::options(dice& d, std::size_t process) const {
  acquire_options o;
  o.lease = milliseconds(d.between(shortest_lease_.count(), longest_lease_.count()));
  o.wait = d.chance(0.3) ? forever : milliseconds(d.between(1, 3000));
  o.renew = d.chance(0.7) ? renewal::automatic : d.chance(0.5) ? renewal::none : renewal::at_most(2);
  if (d.chance(0.2)) o.margin = o.lease / 5;
  if (deployment_ == deployment::failover && d.chance(0.5)) o.replicas = 1;
  if (longest_rest_ != 0ms && d.chance(0.5)) o.at_least = milliseconds(d.between(1, longest_rest_.count()));
  o.linger = lingers_[process];
  return o;
}

asio::awaitable<void> schedule::work(std::size_t i, std::size_t worker, std::shared_ptr<process> p) {
  dice d(seed_, 16 + 16 * i + worker), own(seed_, 1024 + 16 * i + worker);
  const std::string who = fmt::format("p{}.{}", i, worker);
  const bool is_left_out =
      std::find(without_.workers.begin(), without_.workers.end(), i * 16 + worker) != without_.workers.end();
  while (!is_over() && !is_left_out) {
    const auto pause = d.between(clock::duration(0), i == 0 ? longest_pause_ : longest_pause_of_others_);
    co_await p->sleep(pause);
    if (is_over()) break;
    if (!parked_.empty() && own.chance(0.6)) {
      auto going_on = resume(d, own, *p, who);
      co_await std::move(going_on);
      continue;
    }
    if (names_.size() > 1 && d.chance(0.1)) {
      auto using_all = use_all(d, *p, i, who);
      co_await std::move(using_all);
      continue;
    }
    const std::string name = names_[static_cast<std::size_t>(d.between(0, std::int64_t(names_.size()) - 1))];
    const bool reader = rules_.of == kind::shared_mutex && d.chance(0.6);
    const std::string owner = fmt::format("o{}", d.between(0, 1));
    const auto one_of_them = lock_of(*p, name, reader, owner);
    const basic_lock& lock = std::visit([](const basic_lock& l) -> const basic_lock& { return l; }, one_of_them);
    const auto o = options(d, i);
    const bool once = d.chance(0.15);
    const bool campaigns = elections_ && !once;
    // After the grant the value has to be proclaimed.
    const auto longer = campaigns ? client_options_[i].command_timeout : 0ms;
    if (elections_ && own.chance(0.3)) {
      const auto known = elections_->known(name);
      auto asking = election(p->client(), name).leader(as_tuple);
      const auto [e, found] = co_await std::move(asking);
      if (!e) elections_->answered(name, known, found);
    }
    const auto began = world_.now(), began_there = p->now();
    const auto frozen = p->frozen();
    const auto stop = std::make_shared<asio::cancellation_signal>();
    const bool cancels = d.chance(0.1);
    const auto cancel_after = d.between(clock::duration(0), clock::duration(1s));
    auto stopped_at = std::make_shared<std::optional<std::pair<clock::time_point, clock::duration>>>();
    if (cancels) {
      p->after(cancel_after, [this, stop, stopped_at, p = p.get()] {
        *stopped_at = std::pair(world_.now(), p->frozen());
        stop->emit(asio::cancellation_type::terminal);
      });
    }
    if (with_history_) note(who, fmt::format("{} {}{}", once ? "tries" : "wants", name, reader ? " to read" : ""));
    error_code ec;
    hold h;
    leadership led;
    std::string value;
    if (campaigns) {
      value = elections_->value_of(who);
      auto token = asio::bind_cancellation_slot(stop->slot(), as_tuple);
      auto waiting = election(p->client(), name).campaign(value, o, token);
      auto [e, found] = co_await std::move(waiting);
      ec = e;
      led = std::move(found);
    } else if (once) {
      auto token = asio::bind_cancellation_slot(stop->slot(), as_tuple);
      auto [e, found] = co_await lock.try_acquire(o, token);
      ec = e;
      if (found) h = std::move(*found);
      if (!ec && !found) ec = make_error_code(error::timed_out);
    } else {
      auto token = asio::bind_cancellation_slot(stop->slot(), as_tuple);
      auto [e, found] = co_await lock.acquire(o, token);
      ec = e;
      h = std::move(found);
    }
    count(fmt::format("{} {}", campaigns ? "campaign" : once ? "try_acquire" : "acquire", text_of(ec)));
    auto& results = seen_[p.get()];
    leaves_values_ = leaves_values_ || (campaigns && ec);
    results.all = results.all || campaigns;  // Its client counts what was granted, and not proclaimed.
    if (!ec) ++results.acquired;
    if (!once && ec == error::timed_out) ++results.timed_out;
    if (ec == asio::error::operation_aborted && !campaigns) ++results.cancelled;
    if (with_history_)
      note(who, fmt::format("{}: {}", name, ec ? ec.message() : fmt::format("fence {}", h.fence() + led.term())));
    if (*stopped_at) {
      judge_->ended(*p, "a cancelled acquire", (*stopped_at)->first, (*stopped_at)->second, 0ms);
    } else if (once) {
      judge_->ended(*p, "try_acquire", began, frozen, std::min(o.wait, client_options_[i].command_timeout));
    } else if (o.wait != forever) {
      judge_->ended(*p, "acquire", began, frozen, o.wait + longer);
    }
    if (ec) continue;
    const auto limit = once ? std::min(o.wait, client_options_[i].command_timeout) : o.wait;
    // A campaign may go on when its process has stood still: what counts is when the server had the value.
    if (!campaigns) judge_->granted_in_time(*p, "an acquire", began_there, limit);
    held one{.by = p.get(), .worker = who, .name = name, .owner = owner, .reader = reader, .options = o};
    one.called = began;
    one.led = std::move(led);
    if (!campaigns) one.led.hold() = std::move(h);
    one.fence = one.led.fence();
    const auto kept = judge_->granted(std::move(one));
    if (campaigns) elections_->proclaimed(kept, value);
    // It may replace itself.
    if (const auto strike = at_grant_) strike(kept, p);
    asio::co_spawn(p->executor(), watch(kept), asio::detached);
    co_await use(d, own, *p, who, kept, rules_.of == kind::shared_mutex && !reader);
  }
}

asio::awaitable<void> schedule::use_all(dice& d, process& p, std::size_t i, const std::string& who) {
  const auto o = options(d, i);
  const bool reader = rules_.of == kind::shared_mutex && d.chance(0.5);
  const std::string owner = fmt::format("o{}", d.between(0, 1));
  const auto group = std::make_shared<detail::lock_group>();
  auto names = names_;
  if (d.chance(0.5)) std::reverse(names.begin(), names.end());
  for (const auto& name : names) {
    const auto lock = lock_of(p, name, reader, owner);
    group->members.push_back(std::visit([](const auto& l) { return detail::access::lock(l); }, lock));
  }
  const auto began = world_.now(), began_there = p.now();
  const auto frozen = p.frozen();
  seen_[&p].all = true;
  note(who, "wants all");
  judge_->wants_all(p);
  auto waiting = detail::acquire_group<0>(group, o, as_tuple);
  auto [ec, all] = co_await std::move(waiting);
  judge_->has_all_or_none(p);
  count("acquire_all " + text_of(ec));
  note(who, "all: " + text_of(ec));
  if (o.wait != forever) {
    // The one script may take a command's time before the locks are acquired one by one.
    judge_->ended(p, "acquire_all", began, frozen, o.wait + client_options_[i].command_timeout);
  }
  if (ec) co_return;
  // One after the other they are acquired with limits of whole milliseconds.
  if (o.wait != forever) judge_->granted_in_time(p, "an acquire_all", began_there, o.wait + 1ms);
  std::vector<std::shared_ptr<held>> kept;
  for (std::size_t n = 0; n < all.size(); ++n) {
    held one{.by = &p, .worker = who, .name = names[n], .owner = owner, .reader = reader, .options = o};
    one.waited_for_others = true;
    one.called = began;
    one.fence = all[n].fence();
    one.led.hold() = std::move(all[n]);
    kept.push_back(judge_->granted(std::move(one)));
    asio::co_spawn(p.executor(), watch(kept.back()), asio::detached);
  }
  const auto work = d.between(clock::duration(0), longest_work_);
  co_await p.sleep(work);
  note(who, "releases all");
  for (const auto& h : kept) {
    judge_->given_up(*h);
    auto ending = h->held_by_user().release(as_tuple);
    const auto [why] = co_await std::move(ending);
    count("release " + text_of(why));
  }
}

asio::awaitable<void> schedule::watch(std::shared_ptr<held> h) {
  auto waiting = h->held_by_user().lost(as_tuple);
  const auto [ec] = co_await std::move(waiting);
  if (ec) co_return;
  judge_->told(*h);
  leaves_values_ = leaves_values_ || !h->led.value().empty();
  ++seen_[h->by].lost;
  count("hold lost");
  if (with_history_) note(h->worker, "is told of the loss of " + h->name);
}

asio::awaitable<void> schedule::wait_for_others(process& p, std::shared_ptr<held> h, clock::duration longest) {
  const auto stop = std::make_shared<asio::cancellation_signal>();
  p.after(longest, [stop] { stop->emit(asio::cancellation_type::terminal); });
  judge_->wants_to_know(h);
  auto token = asio::bind_cancellation_slot(stop->slot(), as_tuple);
  auto waiting = h->held_by_user().wanted(token);
  const auto [ec] = co_await std::move(waiting);
  judge_->knows(h);
  count("wanted " + text_of(ec));
  if (with_history_) note(h->worker, fmt::format("{} is wanted: {}", h->name, text_of(ec)));
}

asio::awaitable<void> schedule::proclaim(std::shared_ptr<held> h) {
  const auto value = elections_->value_of(h->worker);
  if (with_history_) note(h->worker, fmt::format("proclaims \"{}\"", value));
  auto waiting = h->led.proclaim(value, as_tuple);
  const auto [ec] = co_await std::move(waiting);
  count("proclaim " + text_of(ec));
  if (with_history_) note(h->worker, fmt::format("has proclaimed \"{}\": {}", value, text_of(ec)));
  if (!ec) elections_->proclaimed(h, value);
}

asio::awaitable<bool> schedule::detach(dice& own, std::shared_ptr<held> h) {
  const auto began = world_.now();
  auto waiting = h->held_by_user().detach(as_tuple);
  const auto [ec, found] = co_await std::move(waiting);
  count("detach " + text_of(ec));
  if (with_history_) note(h->worker, fmt::format("detaches {}: {}", h->name, text_of(ec)));
  if (ec) co_return false;
  judge_->given_up(*h);
  judge_->detached(*h, began, found.lease());
  parked one{h, found.to_string(), found.fence(), found.lease()};
  if (own.chance(0.5)) {
    parked_.push_back(std::move(one));
  } else {
    parked_.push_front(std::move(one));
  }
  co_return true;
}

asio::awaitable<void> schedule::resume(dice& d, dice& own, process& p, const std::string& who) {
  const auto one = parked_.front();
  parked_.pop_front();
  const auto& before = *one.before;
  resume_options o;
  o.renew = own.chance(0.7) ? renewal::automatic : renewal::none;
  if (own.chance(0.2)) o.margin = one.lease / 5;
  const auto began = world_.now();
  if (with_history_) note(who, fmt::format("resumes {} of {}", before.name, before.worker));
  auto waiting = p.client().resume(ticket::parse(one.ticket), o, as_tuple);
  auto [ec, h] = co_await std::move(waiting);
  count("resume " + text_of(ec));
  if (with_history_) note(who, fmt::format("has resumed {} of {}: {}", before.name, before.worker, text_of(ec)));
  if (ec == error::lost) judge_->not_resumed(before);
  if (ec && ec != error::lost) parked_.push_back(one);
  if (ec) co_return;
  seen_[&p].all = true;
  held next{.by = &p, .worker = who, .name = before.name, .owner = before.owner, .reader = before.reader};
  next.becomes_reader = before.becomes_reader;
  next.options.lease = one.lease;
  next.options.renew = o.renew;
  next.options.margin = o.margin;
  next.called = began;
  next.ticket = one.ticket;
  next.led.hold() = std::move(h);
  next.fence = next.led.fence();
  const auto kept = judge_->resumed(std::move(next), before, one.fence);
  asio::co_spawn(p.executor(), watch(kept), asio::detached);
  co_await use(d, own, p, who, kept, rules_.of == kind::shared_mutex && !kept->reader && !kept->becomes_reader);
}

asio::awaitable<void> schedule::use(dice& d, dice& own, process& p, const std::string& who, std::shared_ptr<held> h,
                                    bool writer) {
  const auto work = d.between(clock::duration(0), longest_work_);
  // Only the client that has acquired it is told who waits.
  if (asks_ && h->ticket.empty() && own.chance(0.5)) {
    co_await wait_for_others(p, h, work);
  } else {
    co_await p.sleep(work);
  }
  const bool leads = !h->led.value().empty();
  while (leads && own.chance(0.4)) {
    co_await proclaim(h);
    const auto pause = own.between(clock::duration(0), longest_work_);
    co_await p.sleep(pause);
  }
  if (d.chance(0.15)) {
    const auto lease = milliseconds(d.between(shortest_lease_.count(), 2 * longest_lease_.count()));
    const auto began = world_.now(), began_there = p.now();
    auto waiting = h->held_by_user().extend(lease, as_tuple);
    const auto [ec] = co_await std::move(waiting);
    if (!ec) judge_->extended(*h, began, began_there, lease);
    count("extend " + text_of(ec));
    if (with_history_) note(who, fmt::format("extends {} to {} ms: {}", h->name, lease.count(), text_of(ec)));
  }
  if (writer && d.chance(0.3)) {
    judge_->downgrades(*h);
    auto waiting = h->held_by_user().downgrade(as_tuple);
    const auto [ec] = co_await std::move(waiting);
    if (!ec) judge_->downgraded(*h);
    count("downgrade " + text_of(ec));
    if (with_history_) note(who, fmt::format("downgrades {}: {}", h->name, text_of(ec)));
    const auto more = d.between(clock::duration(0), longest_work_);
    co_await p.sleep(more);
  }
  if (detaches_ && !leads && own.chance(0.5)) {
    auto detaching = detach(own, h);
    if (co_await std::move(detaching)) co_return;
  }
  judge_->given_up(*h);
  if (d.chance(0.1)) {
    if (with_history_) note(who, "drops " + h->name);
    h->led = leadership();
    co_return;
  }
  if (with_history_) note(who, "releases " + h->name);
  auto waiting = h->held_by_user().release(as_tuple);
  const auto [ec] = co_await std::move(waiting);
  count("release " + text_of(ec));
  if (!ec) judge_->released(*h);
  if (!ec && leads) elections_->resigned(*h);
  leaves_values_ = leaves_values_ || (ec && leads);
  if (with_history_) note(who, fmt::format("released {}: {}", h->name, text_of(ec)));
  if (ec || h->ticket.empty()) co_return;
  judge_->ticket_is_used_up(h->ticket);
  if (own.chance(0.5)) parked_.push_back({h, h->ticket, h->fence, h->options.lease});
}

void schedule::note(std::string_view who, const std::string& what) {
  if (!with_history_) return;
  const auto since = std::chrono::duration<double, std::milli>(world_.now().time_since_epoch() - 100h).count();
  history_.push_back(fmt::format("{:12.3f} ms  {:<10} {}", since, who, what));
}

// The words and the reply of each request that a call has carried out.
void schedule::each_request(
    const detail::script& s, const std::vector<std::string_view>& arguments, const detail::memory::reply& r,
    const std::function<void(const std::vector<std::string_view>&, const detail::memory::reply&)>& f) {
  if (s.name != "bundle" || r.is_error()) return f(arguments, r);
  constexpr std::size_t in_front = 4;
  const std::size_t all = arguments.size() - in_front;
  const auto releases = static_cast<std::size_t>(std::stoul(std::string(arguments[0])));
  for (std::size_t i = 0; i < all; ++i) {
    const bool is_release = i < releases;
    const std::size_t which = r.items.size() == all ? i : is_release || releases == 0 ? 0 : 1;
    detail::memory::reply one = r.items[which];
    if (one.text.starts_with('!')) one = detail::memory::error(one.text.substr(1));
    f({is_release ? "release" : "acquire", arguments[in_front + i]}, one);
  }
}

void schedule::note_call(std::size_t server, const std::vector<std::string_view>& arguments,
                         const detail::memory::reply& r) {
  if (arguments.size() < 2 || r.is_error() || arguments.front() == "release") return;
  // WAIT holds the reply to such a confirmation back.
  if (arguments.front() != "confirm" || world_.server(server).replicas_that_answer == world_.server(server).replicas) {
    judge_->note_answer(server, arguments[1]);
  }
  if (!r.text.starts_with('1')) return;
  if (arguments.front() == "acquire" && deployment_ == deployment::quorum) judge_->note_grant(server, arguments[1]);
  if (arguments.front() != "raise") return;
  if (const auto strike = at_raise_) strike(server);
}

void schedule::count_calls(const detail::script& s, const std::vector<std::string_view>& arguments,
                           const detail::memory::reply& r) {
  const std::string_view verb = arguments.empty() || s.name == "all" ? std::string_view() : arguments.front();
  const bool is_number = r.type == detail::memory::reply::kind::integer;
  const auto status = is_number      ? std::to_string(r.integer)
                      : r.is_error() ? r.text.substr(0, r.text.find(' '))
                                     : r.text.substr(0, r.text.find(' '));
  count(fmt::format("{} {} -> {}", s.name, verb, status));
}

// What its client says of itself.
void schedule::count_client(process& p) {
  const auto s = p.client().stats();
  const auto add = [this](std::string_view what, std::uint64_t n) {
    if (n != 0) reached_[std::string(what)] += n;
  };
  add("client: granted by the one before", s.handed_off);
  add("client: passed on in the client", s.passed);
  add("client: found busy", s.contended);
  add("client: acquired from what lingered", s.lingered);
  add("client: wanted by another", s.wanted);
  add("client: renewed", s.renewed);
  add("client: renewal without an answer", s.renewal_failed);
  add("client: attempt withdrawn", s.withdrawn);
  add("client: hold lost", s.lost);
  add("client: connected again", s.reconnects);
}

void schedule::check_statistics(process& p) const {
  const auto s = p.client().stats();
  const auto found = seen_.find(&p);
  const seen user = found == seen_.end() ? seen() : found->second;
  const auto compare = [&p](std::string_view what, std::uint64_t counted, std::uint64_t right, bool more = false) {
    if (counted == right || (more && counted > right)) return;
    throw broken(fmt::format("{}: its client has counted {} {}, and it has seen {}", p.name(), counted, what, right));
  };
  compare("holds", s.held, 0);
  compare("operations that wait", s.waiting, 0);
  compare("acquisitions", s.acquired, user.acquired, user.all);
  compare("acquisitions that timed out", s.timed_out, user.timed_out, user.all);
  compare("cancelled operations", s.cancelled, user.cancelled, user.all);
  compare("losses", s.lost, user.lost, /*more=*/true);
}

void schedule::stop_faults() {
  for (const auto& f : faults_) {
    if (f.end) f.end();
  }
  if (cluster_) cluster_->stop();
  world_.slowest = 2ms;
  note("faults", "end");
}

outcome schedule::run() {
  outcome result;
  result.faults = faults_.size();
  result.workers = client_options_.size() * workers_each_;
  try {
    for (std::size_t i = 0; i < client_options_.size(); ++i) make_process(i);
    for (std::size_t i = 0; i < processes_.size(); ++i) start_workers(i);
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      if (std::find(without_.faults.begin(), without_.faults.end(), i) != without_.faults.end()) continue;
      world_.after(faults_[i].when, [this, i] {
        if (is_over()) return;
        note("fault", faults_[i].what);
        count("a fault");
        faults_[i].strike();
      });
    }
    world_.at(ends_, [this] { stop_faults(); });
    const auto look = [this] {
      judge_->look();
      if (elections_) elections_->look();
    };
    const auto done = [this] {
      return failure_ || (is_over() && at_work_ == 0 && (!elections_ || elections_->is_quiet()));
    };
    // A server that was ended last is back after three seconds; an entry of a dead client blocks for eleven at most.
    const auto bound = ends_ + 3s + 2 * longest_lease_ + 30s + 10 * longest_rest_;
    if (!world_.run(bound, done, look)) {
      throw broken(at_work_ != 0 ? "an operation still waits long after the faults have stopped"
                                 : "an observer still sees a leader long after the last one has gone");
    }
    if (failure_) std::rethrow_exception(failure_);
    judge_->judge_histories();
    std::size_t closing = processes_.size();
    bool all_closed = true;
    for (const auto& p : processes_) {
      p->client().close(asio::bind_executor(p->executor(), [this, &closing, &all_closed](error_code ec) {
        --closing;
        all_closed = all_closed && !ec;
        count("close " + text_of(ec));
      }));
    }
    if (!world_.run(
            world_.now() + 10s, [&closing] { return closing == 0; }, look))
      throw broken("a client does not close");
    // What could not be released ends with its lease, which is a little longer for the server.
    // Tickets that nobody has resumed, of holds that were extended.
    const auto longest = std::max(longest_rest_, parked_.empty() ? 0ms : 2 * longest_lease_);
    world_.run(world_.now() + 150ms + longest + longest / 50, [] { return false; });
    if (all_closed && dead_.empty() && rules_.one_server && !rules_.lossy && !was_set_back_) {
      judge_->nothing_is_left(/*values_may_be=*/leaves_values_);
    }
    for (const auto& p : processes_) {
      count_client(*p);
      check_statistics(*p);
      p->die();
    }
    world_.run(world_.now() + 80s, [] { return false; });
    judge_->nothing_is_left(/*values_may_be=*/true);
  } catch (const std::exception& e) {
    result.complaint = e.what();
    note("judge", result.complaint);
  }
  for (const auto& p : processes_) {
    if (p) p->die();
  }
  result.steps = world_.steps();
  result.grants = judge_->grants();
  result.history = std::move(history_);
  return result;
}

}  // namespace

std::string_view name_of(deployment d) {
  switch (d) {
    case deployment::single: return "single";
    case deployment::failover: return "failover";
    case deployment::quorum: return "quorum";
    case deployment::cluster: return "cluster";
    case deployment::slots: return "slots";
  }
  return "?";
}

outcome run_schedule(deployment d, std::uint64_t seed, reach& reached, bool with_history, const cut_down& without) {
  return schedule(d, seed, reached, with_history, without).run();
}

}  // namespace leasehold::simulation
