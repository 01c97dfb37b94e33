// Interface by which the connector resolves names to addresses. The families are queried separately, so that the first
// answer can be used while the other is awaited (RFC 8305). CaresResolver implements it; tests use a fake. Names in
// hosts files never get here: StaticHosts answers them.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/io/endpoint.h"
#include "proxy/io/intrusive_list.h"

namespace bloomwall::proxy {

enum class Family : std::uint8_t { v4, v6 };
inline constexpr std::size_t kFamilies = 2;
constexpr std::size_t index(Family family) { return static_cast<std::size_t>(family); }

enum class ResolveError : std::uint8_t {
  none,          // there are addresses
  no_such_name,  // NXDOMAIN, or a name that must never be asked for
  no_address,    // the name exists, but not with this family
  bad_name,      // no name at all: over its limits, or it ends in a number
  timed_out,     // no server answered
  failed,        // servers answered nonsense or an error
  overloaded,    // too many names are being asked for, or there is no socket to ask with
};
const char* to_string(ResolveError error);

// What is known about one family of one name. Ports are 0.
struct FamilyAnswer {
  std::vector<Endpoint> addresses;
  ResolveError error = ResolveError::none;
};

// The client that a name is resolved for; a resolver shares its room among these. All zero: the proxy itself.
using ResolvingClient = std::array<std::uint8_t, 16>;

// One question of one asker; a member of the asker. Destroying it takes the question back.
class Query {
 public:
  class Handler {
   public:
    // One family's answer came after resolve() had returned. Once per family at most.
    virtual void on_resolved(Query& query) = 0;

   protected:
    ~Handler() = default;
  };
  enum class State : std::uint8_t { idle, pending, done };

  explicit Query(Handler& handler) : handler_(handler) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  State state(Family family) const { return states_[index(family)]; }
  const FamilyAnswer& answer(Family family) const { return answers_[index(family)]; }  // where done
  void cancel();
  void set_client(const ResolvingClient& client) { client_ = client; }  // before resolve()
  const ResolvingClient& client() const { return client_; }

  // For resolvers.
  struct Waiting : ListLink<Waiting> {
    Query* query = nullptr;
    Family family = Family::v4;
  };
  std::string host;                                          // kept by a resolver that puts the question off
  Waiting& waiting(Family family);                           // marks the family pending
  void complete(Family family, const FamilyAnswer& answer);  // stores the answer, calls no handler
  void notify() { handler_.on_resolved(*this); }

 private:
  Handler& handler_;
  ResolvingClient client_{};
  std::array<Waiting, kFamilies> waiting_;
  std::array<State, kFamilies> states_{};
  std::array<FamilyAnswer, kFamilies> answers_;
};

class Resolver {
 public:
  virtual ~Resolver() = default;
  // `host` is a canonical name (lower case, no trailing dot). What is known is in the query on return; the rest comes
  // through its handler.
  virtual void resolve(Query& query, std::string_view host) = 0;
};

// Whether a name may be put to the resolver at all: at most 253 octets, labels of 1 to 63, and its last label is no
// number (decimal or 0x...), because such "names" are addresses to some and must not become names here.
bool is_resolvable_name(std::string_view host);

}  // namespace bloomwall::proxy
