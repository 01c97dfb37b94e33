// What people have told the running proxy and expect to find again: exceptions, switches, tokens, reports of mistakes,
// and the audit of all.
// Kept in "state.db" of the state folder, a file of SQLite that this class alone writes; each change is one transaction
// with its row of the audit, and on the disk when the call returns. Beside it, replaced after each change:
// "exceptions.json", {"next_id":3,"changes":7,"items":[...],"switches":[...]} with all exceptions and switches, which
// other programs read and which stands in where state.db cannot; "exceptions.txt", those that the allow list of any
// proxy can say: allows for everybody, against all filters. "changes" is the row of the audit about the newest change
// of these. state.db and exceptions.json have mode 0600,
// exceptions.txt what the umask leaves.
//
//   state.db                 exceptions.json   what becomes of it
//   as it should be          any               state.db counts; refresh_exports() makes exports anew that say less
//   not there                any               exceptions.json counts, with a warning() where it is there; the first
//                                              change makes state.db, which begins with these
//   damaged, newer, foreign  there             fault(): exceptions.json counts, and every change is refused
//   lacks changes that       there             likewise: it is an older one, or its -wal, in which the newest changes
//   exceptions.json has                        are after a kill, is gone or damaged
//   damaged, newer, foreign  not there         an error: what was denied would pass
//   removed or replaced      any               fault() from the next change on: what is in memory counts until the end
//   while it is served                         of the process
// One process changes it at a time (state_lock.h), from its first change on. The changes of another one are refused
// meanwhile; and from then on, too, where this one has changed it since the other one read it: fault().
// A file that cannot be read is never changed, moved or removed. Where there is no folder and none can be made, changes
// are kept in memory alone: is_kept() is false.
// A state.db of an older program gets the tables that it has not with the first change.
// Limits: Overrides::kMost exceptions, SwitchItem::kMost switches, Token::kMost tokens, ReportItem::kMostOpen and
// kMostClosed reports; the audit has none.
// Not thread-safe (state_thread.h has a thread for it). Cost of a change: a sync of the disk for state.db and one for
// each export, whose lines are made once (export_lines.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "proxy/state/audit.h"
#include "proxy/state/database.h"
#include "proxy/state/exception_item.h"
#include "proxy/state/export_lines.h"
#include "proxy/state/report_item.h"
#include "proxy/state/state_lock.h"
#include "proxy/state/switch_item.h"
#include "proxy/state/tokens.h"

namespace bloomwall::proxy {

// All of it at one time. Immutable once published.
struct State {
  std::vector<ExceptionItem> exceptions;  // by id
  std::uint64_t exceptions_version = 0;   // counts their changes, from 0 in each process
  std::vector<SwitchItem> switches;       // one of each group and key
  TokenTablePtr tokens;                   // never null
  ReportsPtr reports;                     // likewise; those that are decided as well
  std::vector<filter::Override> overrides() const;
  SwitchesPtr switches_in_force() const;  // those that have ended as well; null: none
  const ExceptionItem* find(std::uint64_t id) const;
};
using StatePtr = std::shared_ptr<const State>;

struct StateError {
  enum class Kind : std::uint8_t {
    missing,   // there is none of that id or name
    conflict,  // there are too many, there is one of that name already, or it was decided meanwhile
    changed,   // it is no longer what the asker has seen
    failed,    // it cannot be kept
  };
  Kind kind = Kind::failed;
  std::string what;
};
template <typename T>
using StateResult = tl::expected<T, StateError>;

class StateStore {
 public:
  static constexpr int kSchema = 2;  // 1: without reports and secrets
  static constexpr std::size_t kMaxExport = std::size_t{64} << 20;
  static constexpr std::size_t kAuditPage = 200;  // rows at most of one question

  // An empty name: kept nowhere. Makes nothing; the first change does.
  static tl::expected<StateStore, std::string> open(const std::filesystem::path& folder);

  const StatePtr& state() const { return state_; }  // never null
  bool is_kept() const { return !folder_.empty(); }
  const std::string& fault() const { return fault_; }      // why nothing can be changed; empty: it can
  const std::string& warning() const { return warning_; }  // of open(), for the log; empty: none
  // The exports are not what state.db says: a process was killed between the two, or the disk was full.
  bool are_exports_stale() const { return are_exports_stale_; }
  void refresh_exports();  // where they are stale, and nobody else holds the folder

  // From now on a change fails at once where another process holds the file.
  void wait_for_nobody();
  // Lets another process change the folder from now on: this one is about to end, or is replaced. The next change takes
  // it back, where nobody has changed it.
  void release();

  // Each is kept when it returns; after an error nothing has changed.
  // It gets an id, and takes the place of those that say the same.
  StateResult<ExceptionItem> add_exception(ExceptionItem item, const Author& author);
  StateResult<ExceptionItem> remove_exception(std::uint64_t id, const Author& author, std::string_view why);
  // What new filters say of exceptions that hold until a build: those that are no longer listed are removed, the
  // others note which builds were asked. How many are gone.
  struct BuildFinding {
    std::uint64_t id = 0;
    bool is_listed = true;
    bool is_new_build = false;  // of a filter that it is against
    std::map<std::string, std::string> seen;
  };
  StateResult<std::size_t> note_builds(const std::vector<BuildFinding>& findings);

  // A new one, or one more of an open one that is_about_the_same(). The report as it is kept.
  StateResult<ReportItem> add_report(ReportItem report, const Author& author);
  // Makes the exception as add_exception() does, in one transaction with the report; `words` are for whoever has
  // reported it. Only of one that is open.
  struct Accepted {
    ReportItem report;
    ExceptionItem exception;
  };
  StateResult<Accepted> accept_report(std::uint64_t id, ExceptionItem item, std::string_view words,
                                      const Author& author);
  StateResult<ReportItem> reject_report(std::uint64_t id, std::string_view words, const Author& author);
  // One line more in "known-good.txt" of the folder, unless it is there or there are kMostKnownGood already: what
  // filters stop though none of their lists has it, for `bloomwall-filter build --known-good`.
  static constexpr std::size_t kMostKnownGood = 100'000;
  StateResult<void> add_known_good(std::string_view entry) const;
  // With which tickets are signed (proxy/reply/report_ticket.h): random, and the same after a restart.
  using Secret = std::array<std::uint8_t, 32>;
  StateResult<Secret> report_secret();

  // Takes the place of what the group has under that key.
  StateResult<SwitchItem> set_switch(SwitchItem item, const Author& author);
  StateResult<SwitchItem> remove_switch(std::string_view group, std::string_view key, const Author& author);
  // A row of the audit alone.
  StateResult<void> note(const AuditRow& row);
  // Removes exceptions and switches that have ended, and reports that were decided long ago; how many.
  StateResult<std::size_t> sweep(std::int64_t now);
  StateResult<Token> add_token(Token token, const Author& author);
  StateResult<Token> remove_token(std::string_view name, const Author& author);
  // Of a run of updates that overrules guards; nothing but rows of the audit, one for each filter. No names: of all.
  StateResult<void> note_forced_update(const std::vector<std::string>& filters, const Author& author,
                                       std::string_view why);

  // The newest first, from `since` on and below the id `before`; at most kAuditPage.
  StateResult<std::vector<AuditRow>> audit(std::int64_t since, std::uint64_t before);
  // Rows that were written since the last call, the oldest first.
  std::vector<AuditRow> take_written() { return std::exchange(written_, {}); }

 private:
  explicit StateStore(std::filesystem::path folder);
  tl::expected<bool, std::string> load_file();
  tl::expected<void, std::string> load_export(const std::string& fault);
  tl::expected<void, std::string> check();
  tl::expected<void, std::string> load();
  tl::expected<void, std::string> make_file();
  tl::expected<void, std::string> read_version();
  tl::expected<void, std::string> claim();
  tl::expected<void, std::string> find_file();
  tl::expected<void, std::string> begin_with_state();
  tl::expected<void, std::string> bring_up_to_date();
  tl::expected<void, std::string> write(const AuditRow& row);
  // Runs `change` in a transaction; state() is `next` once that is on the disk.
  using Change = std::function<tl::expected<void, std::string>()>;
  StateResult<void> commit(State next, const Change& change);
  StateResult<void> commit_after(const Change& change, State& next);  // which `change` completes
  StateResult<void> change_tokens(std::vector<Token> tokens, const Change& change);
  // The two halves of making an exception. The first gives those whose place it takes, and the reports that were
  // accepted with them: their pages are open by the new one.
  struct Placed {
    std::vector<ExceptionItem> replaced;
    std::vector<ReportItem> reports;
  };
  StateResult<Placed> place(ExceptionItem& item, const Author& author, State& next) const;
  static std::vector<ReportItem> hand_over_reports(const std::vector<ExceptionItem>& from, const ExceptionItem& to,
                                                   State& next);
  tl::expected<void, std::string> write_exception(const ExceptionItem& item, const Placed& placed,
                                                  const Author& author);
  tl::expected<void, std::string> apply(const BuildFinding& finding, State& next);
  tl::expected<void, std::string> cure_reports(std::uint64_t exception, State& next);
  static std::vector<std::uint64_t> drop_old_reports(State& next, std::int64_t now);  // their ids
  tl::expected<void, std::string> forget_reports(const std::vector<std::uint64_t>& ids);
  StateResult<ReportItem> open_report(std::uint64_t id) const;
  template <typename Item>
  tl::expected<void, std::string> end(const std::vector<Item>& ended, const char* what);
  std::string export_text();
  void write_exports();
  void compare_exports();
  tl::expected<void, std::string> check_changes();

  std::vector<AuditRow> writing_, written_;  // in the transaction under way; in those before
  std::optional<Database> database_;         // nothing: state.db is not made yet, or cannot be read
  std::filesystem::path folder_;             // empty: kept nowhere
  StatePtr state_;
  StateLock lock_;
  std::int64_t version_ = 0;  // of state.db as it was read: another one after a change by another process
  bool is_imported_ = false;  // from exceptions.json
  bool is_older_ = false;     // state.db is of an older program
  bool waits_ = true;         // for others that hold state.db
  std::uint64_t next_id_ = 1, next_report_ = 1;
  // Rows of the audit about the newest change of what is exported: in state.db; in the transaction under way.
  std::uint64_t last_change_ = 0, changing_ = 0;
  ExportLines export_lines_;
  bool are_exports_stale_ = false;
  std::string fault_, warning_;
};

// What "exceptions.json" of a folder says; no folder and no file: nothing. Error: it cannot be read or understood.
struct ExportedState {
  std::vector<ExceptionItem> exceptions;
  std::vector<SwitchItem> switches;
  std::uint64_t next_id = 1, changes = 0;
  bool is_there = false;
  std::vector<filter::Override> overrides() const;
};
tl::expected<ExportedState, std::string> read_export(const std::filesystem::path& folder);

}  // namespace bloomwall::proxy
