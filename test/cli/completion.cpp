// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Real shells in a terminal: a line is typed, its last word is completed, and the shell tells which words stand there.
#include "leasehold_command.hpp"
#include "support/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>

namespace leasehold::test {

namespace {

const std::string sources = LEASEHOLD_SOURCE_DIR "/src/cli/completion/";
const std::string bash_completion_package = "/usr/share/bash-completion/bash_completion";
const words subcommands{"run", "elect", "leader", "status", "list", "watch", "acquire", "extend", "release", "break"};

words split(const std::string& text, char end) {
  words all;
  for (std::size_t at = 0, to; (to = text.find(end, at)) != text.npos; at = to + 1) {
    all.push_back(text.substr(at, to - at));
  }
  return all;
}

// What `leasehold __complete` says: its first string, and then the words without the texts behind them.
words answer_to(words arguments, const words& environment = {"LEASEHOLD_REDIS=unix:///nowhere"}) {
  arguments.insert(arguments.begin(), "__complete");
  const ended e = run_leasehold(std::move(arguments), environment);
  BOOST_TEST(e.status == 0);
  BOOST_TEST(e.errors == "");
  const words all = split(e.output, '\0');
  words answer{all.at(0)};
  for (std::size_t i = 1; i < all.size(); i += 2) answer.push_back(all[i]);
  return answer;
}

// "-h", "--help" and so on: the names of all options in what `leasehold SUBCOMMAND --help` prints.
words options_in_help(const words& subcommand) {
  words arguments = subcommand;
  arguments.push_back("--help");
  words options;
  for (const auto& line : split(run_leasehold(arguments).output, '\n')) {
    if (!line.starts_with("  -")) continue;
    std::string names = line.substr(2, line.find(' ', 2) - 2) + ",";
    for (auto& name : split(names, ',')) options.push_back(std::move(name));
  }
  return options;
}

enum class shell { bash, bash_with_package, zsh };

const shell shells[] = {shell::bash, shell::bash_with_package, shell::zsh};
// For what the package has no part in.
const shell bare_shells[] = {shell::bash, shell::zsh};

std::ostream& operator<<(std::ostream& out, shell s) {
  return out << (s == shell::bash ? "bash" : s == shell::zsh ? "zsh" : "bash with the package bash-completion");
}

// What has become of a line.
struct completed {
  std::string line;
  words arguments;  // The words behind the command, as the shell itself understands them.
};

// An interactive shell whose current folder is a folder of its own.
class typist {
 public:
  typist(shell which, const words& environment) {
    const std::string rc = which == shell::zsh ? zsh_rc() : bash_rc(which == shell::bash_with_package);
    folder_.write(".zshrc", rc);
    words command{"zsh", "-d", "-i"};
    if (which != shell::zsh) command = {"bash", "--noprofile", "--rcfile", folder_ / ".zshrc", "-i"};
    words all = environment;
    const std::string path = std::filesystem::path(LEASEHOLD_CLI_PATH).parent_path();
    for (const auto& variable :
         {"HOME=" + folder_.path(), "ZDOTDIR=" + folder_.path(), "HERE=" + folder_.path(), "SOURCES=" + sources,
          "PATH=" + path + ":" + std::getenv("PATH"), std::string("INPUTRC=/dev/null"), std::string("HISTFILE="),
          std::string("LC_ALL=C.UTF-8"), std::string("TERM=dumb"), std::string("COLUMNS=200")}) {
      all.push_back(variable);
    }
    environment_ = std::move(all);
    terminal_ = std::make_unique<terminal>(std::move(command), environment_);
    terminal_->read_until("shell is ready");
    terminal_->forget();
  }

  // The word at the end of the line is completed, as by the tabulator key.
  completed complete(const std::string& line) { return type(line + "\t" + and_run); }

  // The same until they are as wanted: the program waits for the store's answer for a second only, and the machine may
  // stand still for longer.
  completed complete_to(const words& wanted, const std::string& line) {
    return best_of_five([&] { return complete(line); }, [&](const completed& c) { return c.arguments == wanted; });
  }
  std::string complete_only_to(const std::string& wanted, const std::string& line) {
    return best_of_five([&] { return complete_only(line); }, [&](const std::string& s) { return s == wanted; });
  }

  // All that it can become are put into the line.
  completed complete_with_all(const std::string& line) { return type(line + "\x18" + "a" + and_run); }

  // The shell is not asked which words stand in the line then: to find out it would have to run what is typed in it.
  std::string complete_only(const std::string& line) { return type(line + "\t" + and_forget).line; }

  // What has been written to the terminal since the last line.
  const std::string& shown() const { return shown_; }

  bool has_file(const std::string& name) const { return std::filesystem::exists(folder_ / name); }

 private:
  // Keys at which the shell writes the line to a file, and also which words it would call a command with.
  static constexpr const char* and_forget = "\x07";
  static constexpr const char* and_run = "\x14";

  static std::string bash_rc(bool with_package) {
    return (with_package ? ". " + bash_completion_package + "\n" : "") + R"(
      cd "$HERE"
      . "$SOURCES/leasehold.bash"
      complete -W 'alpha beta' letters
      dump() {
        local line=$READLINE_LINE
        READLINE_LINE='' READLINE_POINT=0
        [ ! "$run" ] || eval "set -- $line" 2>/dev/null
        printf '%s\0' "$line" "$@" >lines
        printf 'line %s\n' written
      }
      PS1='> '
      bind 'set enable-bracketed-paste off' 'set bell-style none'
      bind -x '"\C-t": run=yes dump'
      bind -x '"\C-g": run= dump'
      bind '"\C-xa": insert-completions'
      echo 'shell is' ready
    )";
  }

  static std::string zsh_rc() {
    return R"(
      cd "$HERE"
      # Only what is needed of zsh's own functions: there are a thousand.
      base=(${(M)fpath:#*/Completion(|/Base|/Zsh)})
      for unix in ${(M)fpath:#*/Completion/Unix}; do
        autoload -Uz $unix/{_files,_path_files,_list_files,_have_glob_qual}
      done
      fpath=("${SOURCES%/}" ${base:-$fpath})
      autoload -Uz compinit && compinit -u -D
      _letters() { [ $words[1] = letters ] && (( CURRENT == $#words )) && compadd alpha beta }
      compdef _letters letters
      zle -C all-words complete-word _generic
      zstyle ':completion:all-words:*' completer _all_matches _complete
      zstyle ':completion:all-words:*' insert true
      bindkey -e
      # Without zsh's own expansion, which runs what is typed before there is a completion.
      bindkey '^I' complete-word
      bindkey '^Xa' all-words
      unsetopt beep prompt_cr prompt_sp
      dump() {
        local line=$BUFFER
        BUFFER=
        [ ! "$run" ] || eval "set -- $line" 2>/dev/null
        printf '%s\0' "$line" "$@" >lines
        printf 'line %s\n' written
      }
      dump_and_run() { run=yes dump }
      zle -N dump
      zle -N dump_and_run
      bindkey '^T' dump_and_run
      bindkey '^G' dump
      PS1='> '
      echo 'shell is' ready
    )";
  }

  completed type(const std::string& keys) {
    terminal_->forget();
    terminal_->type(keys);
    shown_ = terminal_->read_until("line written");
    words all = split(read_file(folder_ / "lines"), '\0');
    completed c{all.at(0), {}};
    if (all.size() > 1) c.arguments.assign(all.begin() + 2, all.end());
    return c;
  }

  temporary_folder folder_;
  words environment_;
  std::unique_ptr<terminal> terminal_;
  std::string shown_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(completion)

BOOST_AUTO_TEST_CASE(all_subcommands_and_options_of_the_help_are_offered_and_no_others) {
  words in_help;
  for (const auto& line : split(run_leasehold({"--help"}).output, '\n')) {
    std::smatch m;
    if (std::regex_search(line, m, std::regex("^  ([a-z]+)  "))) in_help.push_back(m[1]);
  }
  BOOST_TEST(in_help == subcommands, boost::test_tools::per_element());
  words all_of_them{"words"};
  all_of_them.insert(all_of_them.end(), subcommands.begin(), subcommands.end());
  BOOST_TEST(answer_to({""}) == all_of_them, boost::test_tools::per_element());
  words wanted = options_in_help({});
  wanted.insert(wanted.begin(), "words");
  BOOST_TEST(answer_to({"-"}) == wanted, boost::test_tools::per_element());
  for (const auto& subcommand : subcommands) {
    wanted = options_in_help({subcommand});
    BOOST_TEST(wanted.size() > 4U);
    wanted.insert(wanted.begin(), "words");
    BOOST_TEST(answer_to({subcommand, "-"}) == wanted, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(the_program_knows_what_can_stand_where) {
  const std::pair<words, words> cases[] = {
      {{}, {"words", "run", "elect", "leader", "status", "list", "watch", "acquire", "extend", "release", "break"}},
      {{"r"}, {"words", "run", "release"}},
      {{"x"}, {"words"}},
      {{"x", ""}, {"words"}},
      {{"--v"}, {"words", "--version"}},
      {{"--help", "s"}, {"words", "status"}},
      {{"run", "--e"}, {"words", "--exclusive"}},
      // Once is enough, except for the servers of a quorum.
      {{"run", "--lease", "1s", "--l"}, {"words"}},
      {{"run", "--lease=1s", "--l"}, {"words"}},
      {{"run", "--redis", "redis://a", "--red"}, {"words", "--redis"}},
      // What does not go together is not offered together.
      {{"run", "--shared", "--e"}, {"words"}},
      {{"run", "--permits", "2", "--s"}, {"words"}},
      {{"run", "--no-wait", "--w"}, {"words", "--wait-children"}},
      {{"run", "--redis", "redis://a", "--redis-"}, {"words"}},
      {{"run", "--redis-file", "f", "--red"}, {"words"}},
      {{"run", "--wait", "2s", "--no"}, {"words"}},
      // Values, in a word of their own or not.
      {{"run", "--lease", ""}, {"words"}},
      {{"run", "--lease", "10"}, {"words", "10ms", "10s", "10m", "10h", "10d"}},
      {{"watch", "--interval=1.5"},
       {"words", "--interval=1.5ms", "--interval=1.5s", "--interval=1.5m", "--interval=1.5h", "--interval=1.5d"}},
      {{"run", "--lease", "10m"}, {"words"}},
      {{"run", "--permits", "1"}, {"words"}},
      {{"list", "--redis", ""},
       {"beginnings", "redis://", "rediss://", "unix:///", "redis+sentinel://", "redis+cluster://"}},
      {{"list", "--redis=u"}, {"beginnings", "--redis=unix:///"}},
      {{"list", "--redis-file", ""}, {"files"}},
      {{"list", "--redis-file=/et"}, {"files"}},
      {{"list", "--password-file", ""}, {"files"}},
      {{"list", "--password-command", ""}, {"words"}},
      {{"list", "--password-file", "f", "--password-"}, {"words"}},
      {{"list", "--json=x"}, {"words"}},
      {{"list", "--prefix", "--"}, {"words"}},
      // Where no more names are taken, options are all there is.
      {{"list", ""},
       {"words", "-h", "--help", "--redis", "--redis-file", "--password-file", "--password-command", "--user",
        "--prefix", "--json"}},
      {{"list", "n"}, {"words"}},
      {{"status", "n", ""},
       {"words", "-h", "--help", "--redis", "--redis-file", "--password-file", "--password-command", "--user",
        "--prefix", "--json"}},
      {{"status", "--", "n", ""}, {"words"}},
      {{"status", "--", "--", ""}, {"words"}},
      // The command behind the names.
      {{"run", "n", ""}, {"words", "--"}},
      {{"run", "n", "--json", ""}, {"words", "--"}},
      {{"elect", "n", ""}, {"words", "--"}},
      {{"elect", "--value", "v", "n", "--", "ls", ""}, {"command 5"}},
      {{"leader", "--f"}, {"words", "--follow"}},
      {{"run", ""}, {"words"}},
      {{"run", "--prefix", "n", ""}, {"words"}},
      {{"run", "n", "--", ""}, {"command 3"}},
      {{"run", "--lease", "1s", "n", "m", "--", "ls", "--", "-"}, {"command 6"}},
      {{"run", "--", "-n", "m", ""}, {"words", "--"}},
      {{"run", "--", "-n", "m", "--", "ls", "-"}, {"command 5"}},
      {{"run", "--", ""}, {"words"}},
      {{"run", "--", "--", "ls", ""}, {"words"}},
  };
  for (const auto& [arguments, wanted] : cases) {
    BOOST_TEST_CONTEXT(arguments.size() << " words, the last is '" << (arguments.empty() ? "" : arguments.back())
                                        << "'") {
      BOOST_TEST(answer_to(arguments) == wanted, boost::test_tools::per_element());
    }
  }
}

BOOST_FIXTURE_TEST_CASE(names_are_those_of_the_store_that_is_meant, with_leasehold) {
  const redis_server other;
  redis_connection(other.socket_path()).command({"SET", "elsewhere", "leasehold:x.1:7"});
  for (const std::string name : {"app:one", "app:two", "-dash", "++", "three"}) {
    redis.command("SET", name, "leasehold:x.1:7");
  }
  redis.command("SET", "no lock", "x");
  redis.command("SET", std::string("nul\0", 4), "leasehold:x.1:7");
  const std::pair<words, words> cases[] = {
      {{"status", ""}, {"words", "app:one", "app:two", "three"}},
      {{"break", "t"}, {"words", "three"}},
      {{"break", "--", ""}, {"words", "++", "-dash", "app:one", "app:two", "three"}},
      {{"run", "--", "-"}, {"words", "-dash"}},
      {{"run", "three", ""}, {"words", "app:one", "app:two", "--"}},
      {{"run", "--prefix", "app:", ""}, {"words", "one", "two"}},
      {{"run", "--prefix=app:", "one", "t"}, {"words", "two"}},
      {{"status", "--redis", other.url(), ""}, {"words", "elsewhere"}},
      {{"status", "--redis=" + other.url(), ""}, {"words", "elsewhere"}},
      {{"status", "--redis-file", folder.write("url", other.url()), ""}, {"words", "elsewhere"}},
      {{"status", "--redis-file", "/no/file", ""}, {"words"}},
      // Nobody can list the locks of a quorum, nor of what is no URL.
      {{"status", "--redis", other.url(), "--redis", redis.url(), ""}, {"words"}},
      {{"status", "--redis", "redis:/", ""}, {"words"}},
      {{"status", "--redis", "$(touch x)", ""}, {"words"}},
      {{"status", "--redis", "redis://127.0.0.1:" + std::to_string(free_port()), ""}, {"words"}},
  };
  for (const auto& [arguments, wanted] : cases) {
    BOOST_TEST_CONTEXT(arguments.size() << " words, the last is '" << arguments.back() << "'") {
      const words answer = best_of_five([&, given = &arguments] { return answer_to(*given, environment()); },
                                        [&, to = &wanted](const words& a) { return a == *to; });
      BOOST_TEST(answer == wanted, boost::test_tools::per_element());
    }
  }
  redis.stop();
  BOOST_TEST(answer_to({"status", ""}, environment()) == (words{"words"}), boost::test_tools::per_element());
  redis.go_on();
}

BOOST_AUTO_TEST_CASE(a_store_that_refuses_connections_is_not_waited_for) {
  using std::chrono::steady_clock;
  // More than without a store. The limit is a second.
  constexpr std::chrono::milliseconds before_the_limit(800);
  const std::string url = "redis://127.0.0.1:" + std::to_string(free_port());
  const auto took = best_of_five(
      [&] {
        const auto begin = steady_clock::now();
        answer_to({"status", "--redis", "bogus", ""});
        const auto without = steady_clock::now() - begin;
        BOOST_TEST(answer_to({"status", "--redis", url, ""}) == (words{"words"}), boost::test_tools::per_element());
        return steady_clock::now() - begin - 2 * without;
      },
      [&](steady_clock::duration d) { return d < before_the_limit; });
  BOOST_TEST((took < before_the_limit));
}

BOOST_FIXTURE_TEST_CASE(the_password_file_and_the_user_of_the_line_are_used, with_leasehold) {
  redis.command("SET", "name", "leasehold:x.1:7");
  redis.command("ACL", "SETUSER", "locker", "on", ">secret", "~*", "&*", "+@all");
  redis.command("ACL", "SETUSER", "default", "resetpass", ">of-default");
  for (const words& options : {words{"--password-file", folder.write("default", "of-default\n")},
                               words{"--user=locker", "--password-file=" + folder.write("locker", "secret\n")}}) {
    words arguments{"status"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back("");
    const words wanted{"words", "name"};
    const words answer =
        best_of_five([&] { return answer_to(arguments, environment()); }, [&](const words& a) { return a == wanted; });
    BOOST_TEST(answer == wanted, boost::test_tools::per_element());
  }
}

BOOST_FIXTURE_TEST_CASE(a_password_command_of_the_line_is_not_run, with_leasehold) {
  redis.command("SET", "name", "leasehold:x.1:7");
  const std::string touch = "touch " + (folder / "x");
  for (const words& options : {words{"--password-command", touch}, words{"--password-command=" + touch}}) {
    words arguments{"status"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back("");
    BOOST_TEST(answer_to(arguments, environment()) == (words{"words"}), boost::test_tools::per_element());
    BOOST_TEST(!std::filesystem::exists(folder / "x"));
  }
}

// A secret that is there once, for example; or nobody writes.
BOOST_FIXTURE_TEST_CASE(a_pipe_is_left_to_the_command, with_leasehold) {
  const std::string pipe = folder / "pipe";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const words& options : {words{"--redis-file", pipe}, words{"--password-file", pipe}}) {
    words arguments{"status"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.emplace_back("");
    BOOST_TEST(answer_to(arguments, environment()) == (words{"words"}), boost::test_tools::per_element());
  }
  BOOST_TEST(answer_to({"status", ""}, {"LEASEHOLD_REDIS_FILE=" + pipe}) == (words{"words"}),
             boost::test_tools::per_element());
  // Both ends, so that nothing waits.
  const int both = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  BOOST_REQUIRE(::write(both, "x\n", 2) == 2);
  BOOST_TEST(answer_to({"status", "--password-file", pipe, ""}, environment()) == (words{"words"}),
             boost::test_tools::per_element());
  int left = 0;
  ::ioctl(both, FIONREAD, &left);
  ::close(both);
  BOOST_TEST(left == 2);
}

BOOST_FIXTURE_TEST_CASE(shells_complete_what_the_program_offers, with_leasehold) {
  for (const std::string name : {"app:one", "app:other", "user@host", "key=value"}) {
    redis.command("SET", name, "leasehold:x.1:7");
  }
  struct {
    std::string line;
    std::string wanted;
  } const cases[] = {
      {"leasehold sta", "leasehold status "},
      {"leasehold run --conf", "leasehold run --conflict-exit-code "},
      {"leasehold run --shared --ex", "leasehold run --shared --ex"},
      {"leasehold run --lease 10m", "leasehold run --lease 10m"},
      {"leasehold list --redis redis+c", "leasehold list --redis redis+cluster://"},
      {"leasehold list --redis=redis+c", "leasehold list --redis=redis+cluster://"},
      {"leasehold status ap", "leasehold status app:o"},
      {"leasehold status app:ot", "leasehold status app:other "},
      {"leasehold status 'app:ot", "leasehold status 'app:other' "},
      {"leasehold status --json \"app:ot", "leasehold status --json \"app:other\" "},
      {"leasehold status --prefix app: ot", "leasehold status --prefix app: other "},
      {"leasehold status --prefix='app:' ot", "leasehold status --prefix='app:' other "},
      {"leasehold break us", "leasehold break user@host "},
      {"leasehold break user@", "leasehold break user@host "},
      {"leasehold break user@h", "leasehold break user@host "},
      {"leasehold break ke", "leasehold break key=value "},
      {"leasehold break key=", "leasehold break key=value "},
      {"leasehold break key=v", "leasehold break key=value "},
      {"leasehold run app:one app:", "leasehold run app:one app:other "},
      {"leasehold status nothing", "leasehold status nothing"},
      {"leasehold status --redis unix:///nowhere ap", "leasehold status --redis unix:///nowhere ap"},
      {"leasehold list --redis-file .zsh", "leasehold list --redis-file .zshrc "},
      {"leasehold list --redis-file=.zsh", "leasehold list --redis-file=.zshrc "},
  };
  const words options = options_in_help({"run"});
  std::set<std::string> all_options(options.begin(), options.end());
  all_options.insert("run");
  for (const shell which : shells) {
    BOOST_TEST_CONTEXT(which) {
      typist t(which, environment());
      for (const auto& [line, wanted] : cases) BOOST_TEST(t.complete_only_to(wanted, line) == wanted);

      const words offered = t.complete_with_all("leasehold run -").arguments;
      BOOST_TEST(std::set(offered.begin(), offered.end()) == all_options, boost::test_tools::per_element());
      BOOST_TEST(t.complete_with_all("leasehold ").arguments == (words{"acquire", "break", "elect", "extend", "leader",
                                                                       "list", "release", "run", "status", "watch"}),
                 boost::test_tools::per_element());
    }
  }
}

BOOST_FIXTURE_TEST_CASE(the_words_behind_the_separator_are_the_commands_own, with_leasehold) {
  for (const shell which : shells) {
    BOOST_TEST_CONTEXT(which) {
      typist t(which, environment());
      if (which == shell::bash) {
        // Bash alone knows commands and files.
        BOOST_TEST(t.complete_only("leasehold run n -- leaseh") == "leasehold run n -- leasehold ");
        BOOST_TEST(t.complete_only("leasehold run n -- cat line") == "leasehold run n -- cat lines ");
        continue;
      }
      for (const std::string begin : {"run n", "run --lease 1s a:b --redis=redis://h:1/2 'c d'", "run -- -n"}) {
        const std::string line = "leasehold " + begin + " -- letters ";
        BOOST_TEST(t.complete_only(line + "al") == line + "alpha ");
        BOOST_TEST(t.complete_only(line + "alpha -- be") == line + "alpha -- beta ");
      }
      BOOST_TEST(t.complete_only("leasehold run n -- leasehold run m -- letters b") ==
                 "leasehold run n -- leasehold run m -- letters beta ");
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_name_of_any_bytes_is_one_word_and_never_evaluated, with_leasehold) {
  // With the beginnings that are typed: in each of the ways to quote.
  struct {
    std::string name;
    words beginnings;
  } const cases[] = {
      {"a b", {"", "a", "a\\ ", "'a", "'a ", "\"a "}},
      {"it's", {"", "it", "it\\'", "\"it'"}},
      {"'q", {"", "\\'", "\"'"}},
      {"\"q\" \\ x", {"", "\\\"q", "'\"q"}},
      {"$(touch x)", {"", "\\$", "\\$\\(", "'$", "\"\\$"}},
      {"`touch x`", {"", "\\`", "'`"}},
      {"; touch x", {"", "\\;", "';", "\";"}},
      {"${HOME}", {"", "\\$", "'$"}},
      {"~", {"", "\\~"}},
      {"*", {"", "\\*", "'"}},
      {"#", {"", "\\#"}},
      {"!x", {"", "\\!", "'!"}},
      {"two\nlines; touch x", {"", "two"}},
      {"\x1b[2J\x07\x7f", {""}},
      {"l\xc3\xa4s \xe2\x82\xac", {"", "l", "l\xc3\xa4", "'l\xc3\xa4s", "l\xc3\xa4s\\ "}},
      {"\xff\xfe\xc3", {""}},
      {"a:b c:$(touch x)", {"", "a", "a:", "a:b", "'a:", "a:b\\ c:"}},
      {"%s%n\\t", {"", "%s"}},
      {" ", {"", "'"}},
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    redis.command("SET", std::to_string(i) + "/" + cases[i].name, "leasehold:x.1:7");
  }
  for (const shell which : bare_shells) {
    typist t(which, environment());
    for (std::size_t i = 0; i < std::size(cases); ++i) {
      const std::string prefix = std::to_string(i) + "/";
      for (const auto& begin : cases[i].beginnings) {
        const words wanted{"status", "--prefix", prefix, cases[i].name};
        const completed c = t.complete_to(wanted, "leasehold status --prefix " + prefix + " " + begin);
        BOOST_TEST_CONTEXT(which << " after '" << begin << "': " << c.line) {
          BOOST_TEST(c.arguments == wanted, boost::test_tools::per_element());
        }
      }
    }
    // Nor is what has been typed.
    for (const std::string typed :
         {"$(touch x)", "`touch x`", "\"$(touch x)", "$(touch x", "'$(touch x)' $(touch x) "}) {
      for (const std::string before : {"leasehold status ", "leasehold run --redis ", "leasehold $(touch x) "}) {
        t.complete_only(before + typed);
      }
    }
    BOOST_TEST(!t.has_file("x"));
  }
}

BOOST_FIXTURE_TEST_CASE(a_store_that_does_not_answer_is_not_waited_for_and_not_complained_of, with_leasehold) {
  redis.command("SET", "name", "leasehold:x.1:7");
  for (const shell which : bare_shells) {
    BOOST_TEST_CONTEXT(which) {
      typist t(which, environment());
      const std::string whole = "leasehold status name ";
      BOOST_TEST(t.complete_only_to(whole, "leasehold status na") == whole);
      redis.stop();
      BOOST_TEST(t.complete_only("leasehold status na") == "leasehold status na");
      BOOST_TEST(!contains(t.shown(), "leasehold: "));
      BOOST_TEST(!contains(t.shown(), "unreachable"));
      redis.go_on();
      BOOST_TEST(t.complete_only_to(whole, "leasehold status na") == whole);
      BOOST_TEST(t.complete_only("leasehold status --redis bogus na") == "leasehold status --redis bogus na");
      BOOST_TEST(!contains(t.shown(), "leasehold: "));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace leasehold::test
