// Asks for URLs by net/http and prints a line for each: status and body, or "refused" and why. Proxy and roots come from
// the environment (HTTPS_PROXY, SSL_CERT_FILE), as in any Go program.
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	client := &http.Client{Timeout: 20 * time.Second}
	for _, url := range os.Args[1:] {
		answer, err := client.Get(url)
		if err != nil {
			fmt.Printf("refused\t%s\n", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Printf("%d\t%s\n", answer.StatusCode, strings.SplitN(string(body), "\n", 2)[0])
	}
}
