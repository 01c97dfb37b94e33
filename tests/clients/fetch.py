"""Asks for URLs by urllib and prints a line for each: status and body, or "refused" and why.

Proxy and roots come from the environment (https_proxy, SSL_CERT_FILE). Certificates are verified as strictly as Python 3.13 does.
SPDX-License-Identifier: Apache-2.0
"""
import ssl
import sys
import urllib.error
import urllib.request

context = ssl.create_default_context()
context.verify_flags |= ssl.VERIFY_X509_STRICT
for url in sys.argv[1:]:
    try:
        with urllib.request.urlopen(url, timeout=20, context=context) as answer:
            print(answer.status, answer.read().decode().split("\n")[0], sep="\t")
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode().split("\n")[0], sep="\t")
    except OSError as error:
        print("refused", error, sep="\t")
