// Slipway and its peers: all scenarios with all systems in one run. bench/README.md says what is measured and what is
// not.
//
//   npm run bench -- peers [--systems bare,slipway] [--scenarios idle,at-once] [--count 5] [--out FILE]
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { type HostedPeer, hostPeer } from './peers/hosted.ts';
import { installPeers } from './peers/install.ts';
import type { Measured } from './peers/measured.ts';
import { report } from './peers/report.ts';
import { differingCalls } from './peers/sameCalls.ts';
import { atOnce, atOnceAgain } from './peers/scenarios/atOnce.ts';
import { killedInPatch, killedInPoll } from './peers/scenarios/killed.ts';
import { idle, idleAgain, slowDeploy } from './peers/scenarios/oneByOne.ts';
import { parked } from './peers/scenarios/parked.ts';
import type { Scenario } from './peers/scenarios/scenario.ts';
import { BARE, type System, SYSTEMS } from './peers/systems.ts';
import { startStandIn } from './standIn.ts';
import { machine, say } from './statistics.ts';

const SCENARIOS: readonly Scenario[] = [
  idle,
  idleAgain,
  slowDeploy,
  atOnce,
  atOnceAgain,
  parked,
  killedInPatch,
  killedInPoll,
];
/** The limit for one scenario with one system. */
const SCENARIO_MS = 20 * 60_000;
const RESULTS = fileURLToPath(new URL('./results/peers.json', import.meta.url));

interface LeftOut {
  readonly system: string;
  readonly scenario: string;
  readonly why: string;
}

const { values } = parseArgs({
  options: {
    systems: { type: 'string' },
    scenarios: { type: 'string' },
    count: { type: 'string' },
    out: { type: 'string' },
  },
});
const systems = chosen('systems', SYSTEMS, values.systems);
const scenarios = chosen('scenarios', SCENARIOS, values.scenarios);
const count = values.count === undefined ? undefined : Number(values.count);
if (count !== undefined && (!Number.isInteger(count) || count < 1)) {
  throw new TypeError('--count takes a number from 1');
}
const whole =
  systems.length === SYSTEMS.length && scenarios.length === SCENARIOS.length && count === undefined;
const out = values.out ?? (whole ? RESULTS : undefined);

const results: Measured[] = [];
const leftOut: LeftOut[] = [];
const load = machine();
installIfNeeded();
for (const scenario of scenarios) {
  for (const system of systems) await measure(scenario, system);
}
const differing = results.flatMap((measured) => {
  const bare = results.find(({ system, scenario }) => system === BARE.name && scenario === measured.scenario);
  if (bare === undefined) return [];
  return differingCalls(measured, bare).map((what) => `${measured.system}, ${measured.scenario}: ${what}`);
});
say(`\n${report(results)}\n`);
for (const { system, scenario, why } of leftOut) say(`Left out: ${system}, ${scenario}: ${why}`);
for (const what of differing) say(`Other calls than the bare script: ${what}`);
const found = {
  benchmark: 'peers',
  date: new Date().toISOString().slice(0, 10),
  machine: load,
  results,
  leftOut,
  differing,
};
if (out !== undefined) {
  await mkdir(dirname(out), { recursive: true });
  await writeFile(out, `${JSON.stringify(found, null, 2)}\n`);
}
say(JSON.stringify(found));

async function measure(scenario: Scenario, system: System): Promise<void> {
  say(`${scenario.name}: ${system.name}`);
  if (scenario.needsEngine === true && system === BARE) {
    const why = 'it stores nothing: a release that is cut off is lost';
    leftOut.push({ system: system.name, scenario: scenario.name, why });
    return;
  }
  const started: HostedPeer[] = [];
  const standIn = await startStandIn();
  try {
    const hosted = await hostPeer(system);
    started.push(hosted);
    const bare = system === BARE ? hosted : await hostPeer(BARE);
    if (bare !== hosted) started.push(bare);
    const stage = { system: hosted, bare, standIn, count: count ?? scenario.count };
    const findings = await within(SCENARIO_MS, scenario.measure(stage));
    results.push({ system: system.name, scenario: scenario.name, ...findings });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    leftOut.push({ system: system.name, scenario: scenario.name, why: why.split('\n')[0] ?? why });
    say(`  failed: ${why}`);
  } finally {
    for (const hosted of started) await hosted.close().catch((error: unknown) => say(`  ${String(error)}`));
    await standIn.close();
  }
}

/** Fails if a scenario takes longer than any successful one. */
async function within<T>(limitMs: number, measured: Promise<T>): Promise<T> {
  const giveUp = new AbortController();
  const late = delay(limitMs, undefined, giveUp).then(() => {
    throw new Error(`it did not end within ${limitMs / 60_000} minutes`);
  });
  late.catch(() => undefined);
  return Promise.race([measured, late]).finally(() => giveUp.abort());
}

/** Installs the peers' packages. A system without its package is left out, with the error of its start. */
function installIfNeeded(): void {
  try {
    installPeers();
  } catch (error) {
    say(`the peers' packages could not be installed: ${String(error)}`);
  }
}

function chosen<T extends { readonly name: string }>(
  option: string,
  all: readonly T[],
  names?: string,
): readonly T[] {
  if (names === undefined) return all;
  return names.split(',').map((name) => {
    const found = all.find((one) => one.name === name);
    if (found === undefined) {
      throw new TypeError(`--${option} takes some of ${all.map((one) => one.name).join(', ')}, not ${name}`);
    }
    return found;
  });
}
