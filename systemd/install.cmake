# Installs units, user, logrotate rule, configuration and documents. With --prefix /usr or /usr/local what belongs into /etc goes
# to /etc, where the programs and logrotate look; with any other prefix below it, and the units name the paths that were chosen. A
# configuration that is there is never overwritten.
# SPDX-License-Identifier: Apache-2.0
set(prefix "${CMAKE_INSTALL_PREFIX}")
if(prefix MATCHES "^/usr(/local)?$")
  set(etc "/etc")
else()
  set(etc "${prefix}/etc")
endif()

# Made in a folder of its own: two may install from one build at the same time, to different places.
string(RANDOM LENGTH 16 name)
set(made "${BLOOMWALL_BINARY}/systemd/install-${name}")

file(READ "${BLOOMWALL_SOURCE}/systemd/bloomwall.service" unit)
string(REPLACE "/usr/bin/bloomwall" "${prefix}/bin/bloomwall" unit "${unit}")
string(REPLACE "--config /etc/bloomwall" "--config ${etc}/bloomwall" unit "${unit}")
file(WRITE "${made}/bloomwall.service" "${unit}")

file(READ "${BLOOMWALL_SOURCE}/systemd/bloomwall.socket" socket)
file(WRITE "${made}/bloomwall.socket" "${socket}")

file(READ "${BLOOMWALL_SOURCE}/systemd/bloomwall-update.service" update)
string(REPLACE "/usr/bin/bloomwall" "${prefix}/bin/bloomwall" update "${update}")
string(REPLACE "--config /etc/bloomwall" "--config ${etc}/bloomwall" update "${update}")
file(WRITE "${made}/bloomwall-update.service" "${update}")

file(INSTALL "${made}/bloomwall.service" "${made}/bloomwall.socket"
     "${made}/bloomwall-update.service" "${BLOOMWALL_SOURCE}/systemd/bloomwall-update.timer"
     "${BLOOMWALL_SOURCE}/systemd/bloomwall-update.path" DESTINATION "${prefix}/lib/systemd/system")
file(INSTALL "${BLOOMWALL_SOURCE}/systemd/bloomwall.sysusers" DESTINATION "${prefix}/lib/sysusers.d" RENAME bloomwall.conf)
file(INSTALL "${BLOOMWALL_SOURCE}/systemd/bloomwall.tmpfiles" DESTINATION "${prefix}/lib/tmpfiles.d" RENAME bloomwall.conf)
file(INSTALL "${BLOOMWALL_SOURCE}/systemd/bloomwall.logrotate" DESTINATION "${etc}/logrotate.d" RENAME bloomwall)
file(READ "${BLOOMWALL_SOURCE}/conf/bloomwall.yaml" yaml)
string(REPLACE "/usr/share/bloomwall" "${prefix}/share/bloomwall" yaml "${yaml}")
file(WRITE "${made}/bloomwall.yaml" "${yaml}")

file(INSTALL "${made}/bloomwall.yaml" "${BLOOMWALL_SOURCE}/conf/blocked.html"
     DESTINATION "${prefix}/share/doc/bloomwall/examples")
file(INSTALL "${BLOOMWALL_SOURCE}/conf/never-decrypt.txt" "${BLOOMWALL_SOURCE}/conf/catalogue.yaml" DESTINATION "${prefix}/share/bloomwall")
file(INSTALL "${BLOOMWALL_SOURCE}/conf/safe-search.txt" DESTINATION "${prefix}/share/doc/bloomwall/examples")
file(INSTALL "${BLOOMWALL_SOURCE}/docs/monitoring" DESTINATION "${prefix}/share/doc/bloomwall/examples")
# Where scdoc was there when it was built (docs/CMakeLists.txt).
set(documents "${BLOOMWALL_BINARY}/docs")
foreach(section 1 3 5 7 8)
  file(GLOB pages "${documents}/man/*.${section}")
  file(INSTALL ${pages} DESTINATION "${prefix}/share/man/man${section}")
endforeach()
if(EXISTS "${documents}/completions")
  file(INSTALL "${documents}/completions/bash/" DESTINATION "${prefix}/share/bash-completion/completions")
  file(INSTALL "${documents}/completions/zsh/" DESTINATION "${prefix}/share/zsh/site-functions")
  file(INSTALL "${documents}/completions/fish/" DESTINATION "${prefix}/share/fish/vendor_completions.d")
endif()
set(doc "${prefix}/share/doc/bloomwall")
file(INSTALL "${BLOOMWALL_SOURCE}/README.md" "${BLOOMWALL_SOURCE}/LICENSE" DESTINATION "${doc}")
file(GLOB pages "${BLOOMWALL_SOURCE}/docs/*.md")
file(INSTALL ${pages} "${BLOOMWALL_SOURCE}/docs/guide" "${BLOOMWALL_SOURCE}/docs/pictures" DESTINATION "${doc}/docs")
# What pages refer to, where they look for it.
file(INSTALL "${BLOOMWALL_SOURCE}/docs/monitoring/metrics.md" DESTINATION "${doc}/docs/monitoring")
file(INSTALL "${BLOOMWALL_SOURCE}/filter/FORMAT.md" DESTINATION "${doc}/filter")
if(NOT EXISTS "$ENV{DESTDIR}${etc}/bloomwall/bloomwall.yaml")
  file(INSTALL "${made}/bloomwall.yaml" DESTINATION "${etc}/bloomwall")
endif()
file(REMOVE_RECURSE "${made}")
