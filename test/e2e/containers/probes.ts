/**
 * What programs in containers try, as JavaScript: `connected(to)`, `proxied(url)`, which rejects if the proxy
 * refuses, and `status(name)`, a field of this process's `/proc` status.
 */
export const PROBES = `
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';

const connected = (to) => new Promise((resolve, reject) => {
  const socket = connect({ ...to, timeout: 3000 }, () => { socket.destroy(); resolve('connected'); });
  socket.once('error', reject);
  socket.once('timeout', () => { socket.destroy(); reject(new Error('timeout')); });
});
const proxied = (url) => new Promise((resolve, reject) => {
  const { hostname, port } = new URL(process.env.HTTP_PROXY);
  const asked = request({ hostname, port, path: url, headers: { host: new URL(url).host } }, async (answer) => {
    let text = '';
    for await (const chunk of answer) text += chunk;
    if (answer.statusCode === 403) reject(new Error('403 ' + text)); else resolve(text);
  });
  asked.once('error', reject);
  asked.end();
});
const status = (name) => new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm').exec(readFileSync('/proc/self/status', 'utf8'))[1];
`;
