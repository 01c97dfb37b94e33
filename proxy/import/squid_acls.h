// The ACLs of squid.conf: what each one means in the words of rule_model.h.
// Source: Squid 5's squid.conf.documented, "TAG: acl".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proxy/import/config_lines.h"
#include "proxy/import/rule_model.h"

namespace bloomwall::proxy::foreign {

enum class AclKind : std::uint8_t {
  everybody,     // all
  people,        // src, proxy_auth, an external ACL about groups of users
  list,          // dstdomain, dst, ssl::server_name
  times,         // time
  ports,         // port
  connect,       // method CONNECT
  manager,       // manager, PURGE: pages of the cache manager, and what removes from a cache
  own_networks,  // to_localhost, to_linklocal: what deny_destinations refuses
  never,         // proto FTP and the like: nothing that is proxied here
  step,          // at_step: a step of ssl_bump
  other          // nothing of ours: `reason`
};
struct SquidAcl {
  AclKind kind = AclKind::other;
  std::size_t index = 0;  // of people, list, times in Imported
  std::vector<std::string> ports = {};
  std::string reason = {};
  bool incomplete = false;  // some of its values are in no list
};

// ACLs by name, in lower case as Squid compares them. Those that Squid defines itself are there from the start.
class SquidAcls {
 public:
  explicit SquidAcls(Imported& out);

  // A line `acl NAME TYPE VALUES`. `group_helper`: a line `external_acl_type NAME ...`, whose program knows groups.
  void define(const ConfigLine& line);
  void add_group_helper(std::string name) { group_helpers_.push_back(std::move(name)); }
  // `configuration_includes_quoted_values`. Off: a value in quotation marks names a file of values. On: it is a value,
  // and parameters("PATH") names a file.
  void set_quoted_values(bool on) { has_quoted_values_ = on; }
  const SquidAcl* find(std::string_view name) const;

 private:
  struct Definition;
  static bool is_of_manager(const Definition& definition);
  void fill(const Definition& definition, SquidAcl& acl);
  void add_clients(const Definition& definition, SquidAcl& acl);
  void add_users(const Definition& definition, SquidAcl& acl);
  void add_external(const Definition& definition, SquidAcl& acl);
  void add_destinations(const Definition& definition, SquidAcl& acl);
  void add_times(const Definition& definition, SquidAcl& acl);
  void add_networks(std::string name, std::initializer_list<const char*> ranges);
  // The values, with those of files in their place. Reports files that cannot be read.
  std::vector<std::string> values_of(const Definition& definition);
  // The file that it names. A relative path begins at the folder of the configuration.
  std::optional<std::filesystem::path> file_of(const Word& word, const ConfigLine& line) const;

  Imported& out_;
  std::map<std::string, SquidAcl, std::less<>> acls_;
  std::vector<std::string> group_helpers_;
  bool has_quoted_values_ = false;
};

}  // namespace bloomwall::proxy::foreign
