// The processes of one helper, and the questions for them. Any thread asks; the pool's own thread starts the processes
// when there is something to ask, writes, reads and calls back.
// A process is killed where it does not answer a question within the time-out, says what is no answer, answers what it
// was not asked, or says more than one line for a question. What it had been asked besides is asked once more, of
// another process; if that dies, too, there is no answer. Nobody waits longer than the time-out. After each process
// that has died the next is started after a pause (kFirstPause, doubled up to kMostPause), until one answers.
// What a process prints to stderr before its first question is logged; later it may hold passwords and is thrown away.
// So may the message of a BH, spelt in whatever way: it is logged where no question holds a password (Secrets).
// "BH Success" means no, unless stderr has complained: basic_ldap_auth of Squid 5 says it of a wrong password, and of a
// directory that cannot be reached.
// The answer TT begins a conversation (Secrets::tickets): its channel of that process is kept for the next leg, for
// half the time-out at most: what waits behind it is asked in its time. A client that begins more of them than half
// the channels there are loses its oldest. A process that has died, or has former settings, takes no further leg:
// there is no answer then.
// Bounded: settings.processes, settings.queue, lines of kMostHelperLine octets, and the limits of TurnQueue.
// Threads: ask(), use() and figures() any; `done` on the pool's thread, once. The destructor kills all processes and
// drops what waits without calling `done`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/handles.h"
#include "base/units.h"
#include "conf/authentication.h"
#include "proxy/auth/helper_line.h"
#include "proxy/auth/helper_process.h"
#include "proxy/auth/turn_queue.h"

namespace bloomwall::proxy {

// A channel that is kept for the next leg of a login, until this is destroyed or its time is over.
// Threads: destroyed on any; may outlive the pool.
class HelperConversation {
 public:
  struct Ended {
    std::mutex mutex;
    std::vector<std::uint64_t> ids;  // guarded by mutex
  };
  HelperConversation(std::shared_ptr<Ended> ended, std::uint64_t id) : ended_(std::move(ended)), id_(id) {}
  ~HelperConversation() {
    const std::scoped_lock lock(ended_->mutex);
    ended_->ids.push_back(id_);
  }
  HelperConversation(const HelperConversation&) = delete;
  HelperConversation& operator=(const HelperConversation&) = delete;
  std::uint64_t id() const { return id_; }

 private:
  const std::shared_ptr<Ended> ended_;
  const std::uint64_t id_;
};
using HelperConversationPtr = std::shared_ptr<const HelperConversation>;

struct HelperReply {
  bool has_answer = false;  // false: no room, no time, or no process to ask
  HelperAnswer answer = {};
  HelperConversationPtr conversation = nullptr;  // in which the next leg may be asked; nullptr: none
};

class HelperPool {
 public:
  static constexpr Milliseconds kFirstPause{100}, kMostPause{30'000};
  static constexpr Milliseconds kTellAgain{1000};  // between lines in the log about the same kind of fault
  using Done = std::function<void(const HelperReply&)>;
  // How many questions of the same client may be out at a time, asked just before this one would be; 0: it is dropped
  // without an answer. Called with the pool locked.
  using Room = std::function<std::size_t()>;
  struct Figures {
    std::uint64_t asked = 0, answered = 0, unanswered = 0;  // since the start
    std::uint64_t deaths = 0, restarts = 0;                 // likewise; restarts: replacements of dead ones
    std::uint64_t processes = 0, busy = 0, waiting = 0;     // now; busy: processes that are asked something
  };

  // What the last word of a question is. A ticket counts once; messages that quote as much as a few octets of it are
  // not logged all the same.
  enum class Secrets : std::uint8_t { none, tickets, passwords };

  // `name`: what the configuration calls it, for the log: "basic_helper".
  HelperPool(std::string name, Secrets secrets);
  ~HelperPool();
  HelperPool(const HelperPool&) = delete;
  HelperPool& operator=(const HelperPool&) = delete;

  // From now on. If they have changed, the former processes end once they have answered. An empty command: none.
  void use(const conf::AuthHelper& settings);
  // `key` names the question: equal ones that are under way are asked once, as long as the settings are the same.
  // `words` is the line without its channel and line feed. `room`: empty: any number. False: no room here, or there is
  // no helper; `done` is not called.
  bool ask(const CredentialKey& key, const ClientKey& client, std::string words, Done done, Room room = {});
  // The next leg of a conversation. `key`: no other question's.
  bool go_on(const HelperConversation& conversation, const CredentialKey& key, const ClientKey& client,
             std::string words, Done done);
  Figures figures() const;

 private:
  // Wiped from memory when it goes out of scope.
  struct Question {
    Question(std::string line, Milliseconds end, Room often)
        : words(std::move(line)), deadline(end), room(std::move(often)) {}
    Question(Question&&) = default;
    Question& operator=(Question&&) = default;
    ~Question();
    std::string words;
    Milliseconds deadline;
    Room room;
    bool was_asked = false;  // of a process that has died
  };
  using Queue = TurnQueue<Question, Done>;
  using ItemPtr = Queue::ItemPtr;
  struct Slot {
    ItemPtr item;  // nullptr: nothing is asked
    Milliseconds sent{0};
    std::size_t end = 0;             // of the question, in octets of all questions to the process
    std::uint64_t conversation = 0;  // not 0: kept for its next leg, while nothing is asked
    Milliseconds kept_until{0};
    ClientKey client = {};
    bool is_free() const { return item == nullptr && conversation == 0; }
  };
  struct Leg {
    std::uint64_t conversation = 0;
    ItemPtr item;
  };
  struct Process {
    Process(std::unique_ptr<HelperProcess> made, const conf::AuthHelper& of);
    ~Process();
    std::size_t load() const;   // slots that are not free
    std::size_t asked() const;  // of them, with a question
    bool has_room() const { return load() < slots.size(); }
    std::unique_ptr<HelperProcess> helper;
    conf::AuthHelper settings;
    std::vector<Slot> slots;  // by channel
    std::string out, in;
    std::size_t read() const;        // octets of questions that it has taken from the pipe
    std::size_t sent = 0, said = 0;  // octets of questions, and of its stderr that were logged
    bool has_read = false;           // some of a question
    bool is_mute = false;            // it has closed its stderr
    bool has_complained = false;     // on stderr, since it was asked last
    std::string fault;               // not empty: it is to be killed
  };
  using ProcessPtr = std::unique_ptr<Process>;
  struct Called {
    std::vector<Done> askers;
    HelperReply reply;
  };

  static Milliseconds clock();
  bool has_thread();
  void run();
  bool take_settings();
  bool has_waiting() const;
  bool has_next() const;
  static bool may_go(const Queue::Item& item, std::size_t out);
  void wait_for_events(Milliseconds now);
  void note_death(Milliseconds now);
  void wake() const;
  void dispatch(Milliseconds now);
  Process* choose(Milliseconds now);
  void start_process(Milliseconds now);
  void send(Process& process, ItemPtr item, Milliseconds now);
  void put(Process& process, Slot& slot, ItemPtr item, Milliseconds now);
  void dispatch_legs(Milliseconds now);
  HelperConversationPtr keep(Slot& slot, const ClientKey& client);
  void release_ended();
  std::size_t most_kept() const;
  void flush(Process& process);
  void read_answers(Process& process);
  void read_words(Process& process);
  void take_line(Process& process, std::string_view line);
  bool is_refusal(Process& process, const HelperAnswer& answer);
  void tell_fault(const HelperAnswer& answer, std::string_view words);
  void expire(Milliseconds now);
  void bury(Milliseconds now);
  void return_questions(Process& process);
  void settle(Queue::Item& item, HelperReply reply);
  void call_back();

  const std::string name_;
  const Secrets secrets_;
  UniqueFd bell_;
  std::thread thread_;
  mutable std::mutex mutex_;  // guards these seven; held for one look at them
  conf::AuthHelper settings_;
  std::uint64_t edition_ = 0;  // of settings_
  Queue queue_;
  std::vector<Leg> legs_;
  bool is_renewed_ = false, stopping_ = false;
  Figures figures_;

  // The thread's.
  conf::AuthHelper current_;
  std::vector<ProcessPtr> processes_;
  std::vector<Called> called_;
  std::uint64_t last_conversation_ = 0;
  const std::shared_ptr<HelperConversation::Ended> ended_ = std::make_shared<HelperConversation::Ended>();
  unsigned failures_ = 0;       // one after the other
  std::size_t unreplaced_ = 0;  // processes that have died
  Milliseconds next_start_{0}, told_{0}, fault_told_{0};
};

}  // namespace bloomwall::proxy
