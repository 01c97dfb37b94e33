// Asks for URLs by Node's https and prints a line for each: status and body, or "refused" and why. The proxy is the first
// argument, host:port; roots come from NODE_EXTRA_CA_CERTS. Node 18 and 20 know no proxy: CONNECT is sent here.
// SPDX-License-Identifier: Apache-2.0
import http from 'node:http';
import https from 'node:https';
import tls from 'node:tls';

const [proxy, ...urls] = process.argv.slice(2);
const [proxyHost, proxyPort] = proxy.split(':');

function tunnel(target) {
  return new Promise((resolve, reject) => {
    const request = http.request({host: proxyHost, port: proxyPort, method: 'CONNECT', path: target.host, timeout: 20000});
    request.on('connect', (answer, socket) =>
        answer.statusCode === 200 ? resolve(socket) : reject(new Error(`CONNECT: ${answer.statusCode}`)));
    request.on('error', reject);
    request.end();
  });
}

async function fetchOne(url) {
  const target = new URL(url);
  const socket = await tunnel(target);
  const createConnection = () => tls.connect({socket, servername: target.hostname, ALPNProtocols: ['http/1.1']});
  return new Promise((resolve, reject) => {
    https.get(url, {createConnection, timeout: 20000}, (answer) => {
      let body = '';
      answer.on('data', (piece) => { body += piece; });
      answer.on('end', () => resolve(`${answer.statusCode}\t${body.split('\n')[0]}`));
    }).on('error', reject);
  });
}

for (const url of urls) {
  console.log(await fetchOne(url).catch((error) => `refused\t${error.code ?? ''} ${error.message}`));
}
process.exit(0);
