// One spelling for all those of a query that web servers read as the same parameters. Filters that were built with
// `--query-spellings` keep and ask their entries with a query (kind Q) by it (filter/FORMAT.md, section 13).
//   "id=1&&b=2&", "&id=1;b=2"      ->  "id=1&b=2"      parameters are divided by '&' or ';', empty ones are none
//   "a=x%20y", "a=x+y"             ->  "a=x+y"         a blank
//   "id=", "id"                    ->  "id"            no value
//   "+id=1", "%20id=1"             ->  "id=1"          PHP: blanks before a name are none of it,
//   "id%00x=1"                     ->  "id=1"          a name ends at a NUL,
//   "a.b=1", "a b=1", "a[b=1"      ->  "a_b=1"         and holds no such octets
// The order of parameters, the letters' case and parameters that a server does not know are kept: these are not the
// same to it, or nobody but it knows that they are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace bloomwall::filter {

// Of the query of a canonical URL: what is written into `out` instead of what it held. Linear; allocates only where
// `out` has to grow; a plain query gives itself. Empty where the query has no parameter.
void set_plain_query(std::string_view query, std::string& out);

}  // namespace bloomwall::filter
