import { PROBES } from './probes.ts';

/** An agent that tries forbidden actions, and reports how each try ended. */
export const AGENT_INTRUDER = `${PROBES}
import { readdirSync, writeFileSync } from 'node:fs';
import { Annotation, StateGraph } from '@langchain/langgraph';
import pg from 'pg';

const State = Annotation.Root({ aims: Annotation(), tried: Annotation() });
const query = async (text) => {
  const [, url] = /SLIPWAY_AGENT_DATABASE_URL=([^\\0]+)/.exec(readFileSync('/proc/self/environ', 'utf8'));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try { return (await client.query(text)).rows; } finally { await client.end().catch(() => {}); }
};
const fetched = async (url) => {
  const response = await fetch(url);
  if (response.status === 403) throw new Error(await response.text());
  return response.text();
};
async function attempt(work) {
  try { return { done: await work() }; } catch (error) { return { refused: String(error.cause ?? error) }; }
}
const tries = ({ pid, home, platform, port, allowed }) => ({
  'memory of the platform': () => readFileSync('/proc/' + pid + '/environ', 'utf8').length,
  'processes of others': () => {
    const others = readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && name !== '1' && name !== String(process.pid));
    if (others.length === 0) throw new Error('there are none');
    return others;
  },
  'api.key': () => readFileSync(home + '/api.key', 'utf8'),
  'master.key': () => readFileSync(home + '/master.key', 'utf8'),
  'files of the machine': () => readFileSync('/etc/shadow', 'utf8') && readFileSync(home + '/x'),
  'writing its root': () => writeFileSync('/written', ''),
  'writing its own source': () => writeFileSync('written', ''),
  'deployments': () => query('select * from deployments'),
  'stored secrets': () => query('select sealed_secrets from revisions'),
  "taking off its role": () => query('reset role'),
  'platform': () => fetched(platform + '/health'),
  'platform, directly': () => connected({ host: '127.0.0.1', port }),
  'metadata': () => fetched('http://169.254.169.254/latest/meta-data'),
  'metadata, directly': () => connected({ host: '169.254.169.254', port: 80 }),
  'metadata, by IPv6': () => fetched('http://[::ffff:169.254.169.254]/'),
  'private network': () => fetched('http://10.0.0.1/'),
  'engine (docker)': () => connected({ path: '/var/run/docker.sock' }),
  'engine (podman)': () => connected({ path: '/run/podman/podman.sock' }),
  'allowed': () => fetched(allowed),
  'threads it sees': () => query('select distinct deployment_id from slipway_agent.threads'),
});
export const graph = new StateGraph(State)
  .addNode('try', async ({ aims }) => {
    const tried = {};
    for (const [name, work] of Object.entries(tries(aims))) tried[name] = await attempt(async () => work());
    return { tried };
  })
  .addEdge('__start__', 'try')
  .compile();
`;

/** The server of an image that tries forbidden actions: `GET /tries` answers how each try ended. */
export const IMAGE_INTRUDER = `${PROBES}
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';

async function attempt(work) {
  try { return { done: await work() }; } catch (error) { return { refused: String(error) }; }
}
const tries = ({ platform, port }) => ({
  'metadata': () => proxied('http://169.254.169.254/latest/meta-data'),
  'metadata, directly': () => connected({ host: '169.254.169.254', port: 80 }),
  'metadata, by IPv6': () => proxied('http://[::ffff:169.254.169.254]/'),
  'private network': () => proxied('http://10.0.0.1/'),
  'private network, directly': () => connected({ host: '10.0.0.1', port: 80 }),
  'platform': () => proxied(platform + '/health'),
  'platform, directly': () => connected({ host: '127.0.0.1', port: Number(port) }),
  'public address, directly': () => connected({ host: '1.1.1.1', port: 443 }),
  'names': () => lookup('example.com'),
  'writing its root': () => writeFileSync('/written', ''),
  'engine (docker)': () => connected({ path: '/var/run/docker.sock' }),
  'engine (podman)': () => connected({ path: '/run/podman/podman.sock' }),
  'sockets of its door': () => readFileSync('/run/slipway/egress.sock'),
});
createServer(async (incoming, response) => {
  const { pathname, searchParams } = new URL(incoming.url, 'http://here');
  if (pathname !== '/tries') return response.end('{"ok":true}');
  const aims = Object.fromEntries(searchParams);
  const tried = {};
  for (const [name, work] of Object.entries(tries(aims))) tried[name] = await attempt(async () => work());
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({
    tried,
    allowed: await attempt(() => proxied(aims.allowed)),
    interfaces: Object.keys(networkInterfaces()),
    capabilities: status('CapEff'),
    noNewPrivileges: status('NoNewPrivs'),
  }));
}).listen(Number(process.env.PORT));
`;
