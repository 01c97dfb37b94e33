"""Configurations of Squid and ufdbGuard as their manuals show them, for tests of `bloomwall import`.
SPDX-License-Identifier: Apache-2.0
"""
SQUID = """
acl localnet src 10.0.0.0/8             # RFC 1918
acl localnet src fc00::/7
acl SSL_ports port 443
acl Safe_ports port 80 443 1025-65535
acl office src 10.1.0.0-10.1.255.255
acl kids src 10.2.0.0/255.255.0.0
acl lessons time MTWHF 08:00-12:30
acl social dstdomain .social.test "{folder}/more-social"
acl school dstdomain learn.social.test
http_access deny !Safe_ports
http_access deny CONNECT !SSL_ports
http_access allow localhost manager
http_access deny manager
http_access allow kids school
http_access deny kids social \\
    lessons
http_access allow localnet
http_access allow localhost
http_access deny all
http_port 3128
coredump_dir /var/spool/squid
refresh_pattern . 0 20% 4320
"""
UFDBGUARD = """
dbhome "{folder}/db"
logdir "/var/log/ufdbguard"
port 3977
time "working-hours" {{
   weekly mtwhf 08:00 - 17:00
}}
source "managers" {{
   ipv4 10.1.1.1 10.1.1.2
}}
source "staff" {{
   ipv4 10.1.0.0/16
}}
category "adult" {{
   domainlist "adult/domains"
   urllist    "adult/urls"
}}
category "news" {{
   domainlist "news/domains"
}}
category "alwaysallow" {{
   domainlist "alwaysallow/domains"
}}
acl {{
   "managers" {{
      pass alwaysallow !adult all
   }}
   "staff" within "working-hours" {{
      pass alwaysallow !adult !news all
   }} else {{
      pass alwaysallow !adult all
   }}
   default {{
      pass alwaysallow none
      redirect "http://block.test/?category=%t"
   }}
}}
"""


def put_lists(folder):
    """Those that UFDBGUARD names."""
    for name, text in {"adult/domains": "adult.test\n", "adult/urls": "mixed.test/adult\n", "news/domains": "news.test\n",
                       "alwaysallow/domains": "good.adult.test\n"}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
