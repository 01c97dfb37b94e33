// POST /api/v1/upgrade: the program that is installed by now takes over, and no connection is refused or cut. On the
// control socket alone. The order, which every way to fail leaves with the old process serving as before:
//   loading      a child runs the program with our listening sockets (successor.h), loads and verifies
//   settling     it is ready; a reload that is under way ends first, then no change of the state is taken any more, new
//                clients of the API wait in the queues, and changes that are under way end
//   handing over the row of the audit is written, state.db released; the child gets what is remembered of logins, opens
//                state.db, and serves
//   done         the child is the main process of systemd; this one closes its listeners and drains. Whoever has asked
//                is told once every worker has closed its own: the child alone accepts by then
// A reload is done here, also while the child loads, and then by the child as well, once it serves. The query log is
// written by both until this process ends.
// The body: {"configuration":"/etc/bloomwall/bloomwall.yaml","silence":60}: refused where this process serves another
// one; how many seconds the child may go without a word. The reply is like that of a reload (reload_api.h); in its last
// line names the process that now serves: {"exit_status":0,"pid":4712}; 0 where the one that was asked starts or ends.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/api/api_access.h"
#include "proxy/api/metrics.h"
#include "proxy/api/served.h"
#include "proxy/daemon/successor.h"

namespace bloomwall::proxy {

class Upgrade {
 public:
  static constexpr std::string_view kPath = "/api/v1/upgrade";
  static constexpr std::chrono::seconds kSilence{60};  // unless the request says another, up to kMostSilence
  static constexpr std::chrono::seconds kMostSilence{3600};
  static constexpr Milliseconds kSettlingBound{5000};

  // `fault`: why the child would not begin with the state that is served; empty: it would.
  using Released = std::function<void(const std::string& fault)>;
  // What the process does for it.
  struct Process {
    std::function<tl::expected<std::vector<Successor::Passed>, std::string>()> sockets;
    std::function<bool()> is_reloading;
    std::function<void()> reload;         // those that may_reload() has put off
    std::function<void(bool held)> hold;  // true: no change is taken; false: as before
    std::function<bool()> is_changing;    // a client waits for a change of the state
    // Writes the row of the audit; another process may change the state afterwards. `done` on the loop.
    std::function<void(const Author& by, const std::string& subject, const Released& done)> release_state;
    std::function<void(const Author& by, const std::string& why)> note_failure;
    std::function<UniqueFd()> logins;  // Server::share_logins()
    // It serves. `closed` on the loop, once this process accepts nobody any more.
    std::function<void(pid_t successor, std::function<void()> closed)> hand_over;
    std::function<void(const std::string& why)> lost;  // it has ended after that
    std::function<void()> end;                         // what was postponed
  };
  Upgrade(EventLoop& loop, std::filesystem::path configuration, std::vector<std::string> command, const Served& served,
          Process process);
  Upgrade(const Upgrade&) = delete;
  Upgrade& operator=(const Upgrade&) = delete;

  ApiRoute route();  // of this object, which must outlive it
  // This process is told to end, and asks first whether that has to wait. True: the child has been told to serve, and
  // may have clients by now whom its end would cut. It comes to serve, and this process ends as the old one does; or it
  // does not within kSettlingBound, and Process::end is called. Whoever tells twice means it: false.
  bool postpone_end();
  // This process ends: before the successor serves, it is killed.
  void cancel(const std::string& why);
  bool is_done() const { return phase_ == Phase::done; }  // another process serves
  bool has_to_answer() const { return asker_.has_value(); }
  bool is_holding() const { return phase_ == Phase::changes || phase_ == Phase::handing_over; }
  // SIGHUP or SIGUSR1 has come. The child may have opened logs before they were moved: it reopens them, too, once it
  // serves. Whoever sends a signal then may have learned of this process before.
  void note_signal(int number);
  // A reload was asked for. False: nothing is to be reloaded now; it will be, when the outcome is known.
  bool may_reload();
  const UpgradeCounts& counts() const { return counts_; }
  void begin_with(const UpgradeCounts& before) { counts_ = {before.succeeded + 1, before.failed}; }

 private:
  enum class Phase : std::uint8_t { idle, loading, reloads, changes, handing_over, done };
  bool is_serving() const { return served_.phase() == proxy::Phase::serving; }
  HttpReply begin(const ApiRequest& request);
  std::optional<std::string> read_body(std::string_view body);
  void on_line(std::string_view line);
  void on_end(const std::string& why);
  void on_tick();
  void settle();
  void hand_over();
  void succeed();
  void on_closed(pid_t pid);
  void fail(const std::string& why);
  void say(std::string_view text);
  void finish(int status, pid_t pid);
  void extend(Milliseconds more);

  EventLoop& loop_;
  const std::filesystem::path configuration_;
  const std::vector<std::string> command_;
  const Served& served_;
  const Process process_;
  Phase phase_ = Phase::idle;
  UpgradeCounts counts_;
  std::unique_ptr<Successor> successor_;
  std::optional<HttpStream> asker_;
  Author author_;
  Milliseconds silence_{kSilence};
  Milliseconds deadline_{0};
  bool has_reloaded_ = false;  // these two: since the child began
  bool has_reopened_ = false;
  bool has_to_end_ = false;  // postpone_end()
  std::string reason_;       // what it said last
  Timer tick_;
};

}  // namespace bloomwall::proxy
