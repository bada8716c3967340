import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { type Row, ServerUnderTest } from '../packages/platform/test/agentServer/conformance/row.ts';
import { ROWS } from '../packages/platform/test/agentServer/conformance/rows.ts';
import { FROM_SOURCE } from '../test/support/fromSource.ts';
import { freePort } from '../test/support/listen.ts';
import { type PublicServer, startPublicServer, untilAnswering } from './publicServer.ts';
import { say } from './statistics.ts';

// Checks two servers against the conformance table, with the same graphs: this one, and the public JS server
// (`@langchain/langgraph-api`, started by `langgraphjs dev`). Prints the rows in which they differ; exits with 1 if
// this server fails any. A comparison for development: `npm run compare:run-api`.

const root = fileURLToPath(new URL('..', import.meta.url));
const agent = join(root, 'packages/platform/test/agentServer/fixtures/agent');
const GRAPHS = ['echo', 'chat', 'parent', 'ask', 'askAndWait', 'steps', 'odd', 'made'];

/** The limit for one row, in milliseconds. */
const ROW_MS = 30_000;

const home = await mkdtemp(join(tmpdir(), 'slipway-compare-'));
const children: ChildProcess[] = [];
let publicServer: PublicServer | undefined;
try {
  const [ours, theirs] = await Promise.all([startOurs(), startPublic()]);
  const judged: { row: Row; ours: string | undefined; theirs: string | undefined }[] = [];
  for (const row of ROWS) {
    const [one, other] = await Promise.all([judge(row, ours), judge(row, theirs)]);
    judged.push({ row, ours: one, theirs: other });
  }
  const passed = (who: 'ours' | 'theirs') => judged.filter((each) => each[who] === undefined).length;
  say(`${ROWS.length} rows: this server holds ${passed('ours')}, the public one ${passed('theirs')}.\n`);
  for (const { row, ours: one, theirs: other } of judged) {
    if (one === undefined && other === undefined) continue;
    say(`${row.section}: ${row.row}`);
    say(`  this server:   ${one ?? 'holds'}`);
    say(`  public server: ${other ?? 'holds'}`);
  }
  process.exitCode = passed('ours') === ROWS.length ? 0 : 1;
} finally {
  for (const { pid } of children) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  await publicServer?.close();
  await rm(home, { recursive: true, force: true });
}

/** The failure in one line; undefined if the row passes. */
async function judge(row: Row, server: ServerUnderTest): Promise<string | undefined> {
  const limit = new AbortController();
  const tooLong = delay(ROW_MS, undefined, { signal: limit.signal }).then(() => {
    throw new Error(`no verdict within ${ROW_MS / 1_000} s`);
  });
  tooLong.catch(() => undefined);
  try {
    await Promise.race([row.check(server), tooLong]);
    return undefined;
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return line.slice(0, 200);
  } finally {
    limit.abort();
  }
}

async function startOurs(): Promise<ServerUnderTest> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const cli = [...FROM_SOURCE, join(root, 'src/cli/main.ts')];
  run(process.execPath, [...cli, 'agent', agent, '--port', String(port)], {
    SLIPWAY_HOME: join(home, 'ours'),
  });
  await untilAnswering(url);
  return new ServerUnderTest(url);
}

async function startPublic(): Promise<ServerUnderTest> {
  const graphs = Object.fromEntries(GRAPHS.map((name) => [name, `./graphs.ts:${name}`]));
  const env = { GREETING: 'hello from graph.json' };
  publicServer = await startPublicServer({ agentDir: agent, graphs, env });
  return new ServerUnderTest(publicServer.url);
}

/** In its own process group, so that its children end with it. */
function run(command: string, args: string[], env: Record<string, string>): void {
  const options = { env: { ...process.env, ...env }, detached: true, stdio: 'ignore' } as const;
  children.push(spawn(command, args, options));
}
