// How a source of the configuration is read: filters[].sources as options of the readers of lists.
// Pure. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "conf/config.h"
#include "filter/lists/list_reader.h"

namespace bloomwall::proxy {

// `action`: of its filter. What a filter with the action allow is made of are also categories that are meant to be
// allowed, and the exceptions of lists, such as "@@||example.com^".
filter::ReadOptions reading_of(const conf::Source& source, conf::Filter::Action action);

// Of options that are not the usual ones, in one line; where it changes, what the last good copy holds does. Empty: all
// are usual.
std::string text_of_reading(const filter::ReadOptions& options);

// What a reader of lists says, with the keys of a source in place of the options of `bloomwall-filter build`.
std::string in_keys_of_sources(std::string text);

}  // namespace bloomwall::proxy
