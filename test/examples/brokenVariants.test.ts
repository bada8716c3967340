import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { describe, expect, it } from 'vitest';

import { loadConfig } from '../../src/config/loadConfig.ts';
import { GraphConfig } from '@slipway/contract/graphConfig';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));
const GREETER = join(EXAMPLES, 'greeter');
const VARIANTS = readdirSync(join(EXAMPLES, 'broken')).sort();

it('are those in examples/README.md', () => {
  const told = [...read(join(EXAMPLES, 'README.md')).matchAll(/^\| `([a-z-]+)` +\|/gm)].map(
    ([, name]) => name,
  );
  expect(told.sort()).toEqual(VARIANTS);
});

describe.each([['greeter', GREETER], ...VARIANTS.map((name) => [name, join(EXAMPLES, 'broken', name)])])(
  '%s',
  (name = '', folder = '') => {
    it('names a graph "greeter" in an existing file', () => {
      const { graphs } = GraphConfig.parse(JSON.parse(read(join(folder, 'graph.json'))));
      expect(Object.keys(graphs)).toEqual(['greeter']);
      expect(existsSync(join(folder, graphs['greeter']!.path.split(':')[0]!))).toBe(true);
    });

    it('has a valid slipway.yaml, with the checks of the greeter', async () => {
      const { config } = await loadConfig(join(folder, 'slipway.yaml'));
      const { config: good } = await loadConfig(join(GREETER, 'slipway.yaml'));
      expect(config).toEqual(good);
    });

    it('shares the greeter’s installation, or needs none of it', () => {
      const manifest = join(folder, 'package.json');
      if (['does-not-install', 'does-not-build'].includes(name) || !existsSync(manifest)) return;
      for (const file of ['package.json', 'package-lock.json']) {
        expect(read(join(folder, file))).toBe(read(join(GREETER, file)));
      }
    });

    it('has no download address in its lock file', () => {
      const lock = join(folder, 'package-lock.json');
      if (existsSync(lock)) expect(read(lock)).not.toMatch(/"resolved": "http/);
    });
  },
);

describe('a graph that can be called', () => {
  it('answers wrongly: without the given name', async () => {
    expect(await ask('answers-wrongly')).toBe('Hello, stranger! It is good to meet you.');
  });

  it('answers slowly: it takes longer than the check allows', async () => {
    const { config } = await loadConfig(join(GREETER, 'slipway.yaml'));
    const { TAKES_MS } = await agentOf('answers-slowly');
    expect(TAKES_MS).toBeGreaterThan(config.checks[0]!.expect.maxLatencyMs!);
  });

  it('fails its run', async () => {
    await expect(ask('run-fails')).rejects.toThrow('The phrase book has no page 1');
  });
});

it('crashes at start: cannot be loaded', async () => {
  await expect(agentOf('crashes-at-start')).rejects.toThrow('GREETER_PHRASE_BOOK is not set');
});

it('does not build: its build ends with an error', async () => {
  const build = pathToFileURL(join(EXAMPLES, 'broken/does-not-build/src/build.mjs')).href;
  await expect(import(build)).rejects.toThrow(SyntaxError);
});

it('names nothing: its graph.json names an export that its file does not have', async () => {
  const { graphs } = GraphConfig.parse(
    JSON.parse(read(join(EXAMPLES, 'broken/graph-names-nothing/graph.json'))),
  );
  const wanted = graphs['greeter']!.path.split(':')[1];
  expect(Object.keys(await agentOf('graph-names-nothing'))).not.toContain(wanted);
});

interface Agent {
  readonly TAKES_MS?: number;
  readonly graph: { invoke(input: unknown): Promise<{ messages: { text: string }[] }> };
}

async function agentOf(name: string): Promise<Agent> {
  return (await import(pathToFileURL(join(EXAMPLES, 'broken', name, 'src/agent.mjs')).href)) as Agent;
}

async function ask(name: string): Promise<string | undefined> {
  const { graph } = await agentOf(name);
  const { messages } = await graph.invoke({ messages: [{ role: 'user', content: 'Hello, I am Ada' }] });
  return messages.at(-1)?.text;
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}
