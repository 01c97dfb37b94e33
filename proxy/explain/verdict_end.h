// Until when the proxy does with a URL what it does at the instant of a view: `explain` and the API's /explain say it,
// and must say the same.
// May wait for a disk. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "filter/url/canonical_url.h"
#include "proxy/decision/passage.h"
#include "proxy/explain/client_view.h"
#include "proxy/explain/tls_explanation.h"

namespace bloomwall::proxy {

// `url`: of `raw`, and has a canonical form. What stands in ClientView::End is for people.
ClientView::End verdict_end(ClientView& view, PassageJudge& passages, TlsExplainer& tls, std::string_view raw,
                            const filter::CanonicalUrl& url);

}  // namespace bloomwall::proxy
