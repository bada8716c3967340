import { PROBES } from './probes.ts';

/** What an intruder aims at. */
export interface Aims {
  /** The platform's process. */
  readonly pid: number;
  readonly home: string;
  readonly platform: string;
  /** A file of another deployment's build. */
  readonly foreignFile: string;
}

/** What came of the intruder's attempts. */
export interface Report {
  /** What each attempt did, or the error that refused it. */
  readonly tried: Readonly<Record<string, { readonly done?: unknown; readonly refused?: string }>>;
  readonly env: Readonly<Record<string, string>>;
  readonly interfaces: readonly string[];
  readonly capabilities: string;
  readonly noNewPrivileges: string;
  readonly uid: number;
}

/** A dependency's install script: tries what a build may not (`aims.json`), and reports to `report.json`. */
export const INTRUDER = `${PROBES}
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';

const source = process.env.INIT_CWD;
const { pid, home, platform, foreignFile } = JSON.parse(readFileSync(source + '/aims.json', 'utf8'));
const tries = {
  'environment of the platform': () => readFileSync('/proc/' + pid + '/environ', 'utf8'),
  'memory of the platform': () => readFileSync('/proc/' + pid + '/maps', 'utf8'),
  'api.key': () => readFileSync(home + '/api.key', 'utf8'),
  'master.key': () => readFileSync(home + '/master.key', 'utf8'),
  'files of the database': () => readdirSync(home + '/postgres'),
  'uploaded sources': () => readdirSync(home + '/objects'),
  'cache of installations': () => readdirSync(home + '/cache'),
  'a file of another build': () => readFileSync(foreignFile, 'utf8'),
  'writing to another build': () => writeFileSync(foreignFile, ''),
  'home of the platform': () => readdirSync(home + '/scratch'),
  'writing its root': () => mkdirSync('/written'),
  'writing beside the socket of its proxy': () => writeFileSync('/run/slipway/written', ''),
  'database, directly': () => connected({ host: '127.0.0.1', port: 5432 }),
  'platform, directly': () => connected({ host: '127.0.0.1', port: Number(new URL(platform).port) }),
  'platform, through the proxy': () => proxied(platform + '/health'),
  'metadata, directly': () => connected({ host: '169.254.169.254', port: 80 }),
  'metadata, through the proxy': () => proxied('http://169.254.169.254/latest/meta-data'),
  'metadata, by IPv6': () => proxied('http://[::ffff:169.254.169.254]/'),
  'private network, through the proxy': () => proxied('http://10.0.0.1/'),
  'private network, directly': () => connected({ host: '10.0.0.1', port: 80 }),
  'public address, directly': () => connected({ host: '1.1.1.1', port: 443 }),
  'names': () => lookup('example.com'),
  'engine (docker)': () => connected({ path: '/var/run/docker.sock' }),
  'engine (podman)': () => connected({ path: '/run/podman/podman.sock' }),
};
const tried = {};
for (const [name, work] of Object.entries(tries)) {
  try { tried[name] = { done: await work() }; } catch (error) { tried[name] = { refused: String(error) }; }
}
writeFileSync(source + '/report.json', JSON.stringify({
  tried,
  env: process.env,
  interfaces: Object.keys(networkInterfaces()),
  capabilities: status('CapEff'),
  noNewPrivileges: status('NoNewPrivs'),
  uid: process.getuid(),
}));
`;
