import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { PlatformError } from '../../src/errors.ts';
import { loadGraphs } from '../../src/agentServer/graphs/graphLoader.ts';
import { createLogger } from '../../src/http/logger.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';

const home = useFolder();

const logged: string[] = [];
const log = createLogger({ level: 'info', destination: { write: (line) => void logged.push(line) } });

async function agentWith(files: Record<string, string>): Promise<string> {
  const dir = await mkdtemp(join(home, 'agent-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), text);
  }
  return dir;
}

const graphJson = (path: string, more: object = {}) => JSON.stringify({ graphs: { bot: path }, ...more });
const COMPILED = '{ stream() {}, streamEvents() {}, getState() {}, mark: process.env.SLIPWAY_TEST_MARK }';

async function failure(files: Record<string, string>): Promise<PlatformError> {
  const error: unknown = await loadGraphs(await agentWith(files), undefined, log).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PlatformError);
  return error as PlatformError;
}

describe('loading graphs', () => {
  it('accepts a compiled graph, a builder, a promise of one, and a function of the configuration', async () => {
    const dir = await agentWith({
      'graph.json': JSON.stringify({
        graphs: {
          compiled: './src/bot.mjs:compiled',
          builder: { path: './src/bot.mjs:builder', description: 'told' },
          promised: './src/bot.mjs:promised',
          made: './src/bot.mjs:made',
          common: './bot.cjs:graph',
          plain: './plain.js:graph',
        },
      }),
      'package.json': '{ "type": "module" }',
      'plain.js': `export const graph = ${COMPILED};`,
      'src/bot.mjs': `
        export const compiled = ${COMPILED};
        export const builder = { compile: () => compiled };
        export const promised = Promise.resolve(compiled);
        export const made = async (config) => ({ ...compiled, made: config.configurable.word });`,
      'bot.cjs': `exports.graph = ${COMPILED};`,
    });
    const { graphs } = await loadGraphs(dir, undefined, log);
    expect([...graphs.keys()]).toEqual(['compiled', 'builder', 'promised', 'made', 'common', 'plain']);
    expect(graphs.get('builder')?.description).toBe('told');
    const compiled = await graphs.get('compiled')!.resolve({});
    expect(await graphs.get('builder')!.resolve({})).toBe(compiled);
    expect(await graphs.get('promised')!.resolve({})).toBe(compiled);
    expect(await graphs.get('made')!.resolve({ configurable: { word: 'x' } })).toMatchObject({ made: 'x' });
  });

  it('applies the environment first, without overriding variables that are set', async () => {
    process.env['SLIPWAY_TEST_SET'] = 'by the deployment';
    const env = { SLIPWAY_TEST_MARK: 'seen', SLIPWAY_TEST_SET: 'by the source' };
    const dir = await agentWith({
      'deep/graph.json': graphJson('./bot.mjs:graph', { env }),
      'deep/bot.mjs': `export const graph = ${COMPILED};`,
    });
    const { graphs } = await loadGraphs(dir, 'deep/graph.json', log);
    expect(await graphs.get('bot')!.resolve({})).toMatchObject({ mark: 'seen' });
    expect(process.env['SLIPWAY_TEST_SET']).toBe('by the deployment');
  });

  it('reads langgraph.json if there is no graph.json, and prefers graph.json', async () => {
    const files = {
      'langgraph.json': `\uFEFF${graphJson('./public.mjs:graph', { env: ['A_NAME'], http: { cors: {} } })}`,
      'public.mjs': `export const graph = { ...${COMPILED}, mark: 'public' };`,
    };
    const { graphs } = await loadGraphs(await agentWith(files), undefined, log);
    expect(await graphs.get('bot')!.resolve({})).toMatchObject({ mark: 'public' });
    const both = await agentWith({
      ...files,
      'graph.json': graphJson('./own.mjs:graph'),
      'own.mjs': `export const graph = { ...${COMPILED}, mark: 'own' };`,
    });
    const { graphs: chosen } = await loadGraphs(both, undefined, log);
    expect(await chosen.get('bot')!.resolve({})).toMatchObject({ mark: 'own' });
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ['there is no graph.json', {}, /^there is no \S+graph\.json$/],
    ['graph.json is no JSON', { 'graph.json': '{\n  x' }, /not valid JSON: .* line 2, column 3/],
    [
      'a graph is in Python',
      { 'graph.json': graphJson('./bot.py:graph') },
      /"bot" \(\.\/bot\.py:graph\) is written in/,
    ],
    ['graph.json names no graph', { 'graph.json': '{"graphs":{}}' }, /graphs: At least one/],
    [
      'the file is missing',
      { 'graph.json': graphJson('./none.mjs:graph') },
      /"bot" \(\.\/none\.mjs:graph\).*does not exist/,
    ],
    [
      'the module throws',
      { 'graph.json': graphJson('./bot.mjs:graph'), 'bot.mjs': 'throw new RangeError("no\\nluck")' },
      /"bot" \(\.\/bot\.mjs:graph\) could not be loaded: RangeError: no luck/,
    ],
    [
      'the module has no such export',
      { 'graph.json': graphJson('./bot.mjs:graph'), 'bot.mjs': 'export const grahp = 1' },
      /no export of that name; it has: grahp/,
    ],
    [
      'the export is something else',
      { 'graph.json': graphJson('./bot.mjs:graph'), 'bot.mjs': 'export const graph = { invoke() {} }' },
      /neither a compiled graph, nor a StateGraph/,
    ],
    [
      'the graph does not compile',
      {
        'graph.json': graphJson('./bot.mjs:graph'),
        'bot.mjs': 'export const graph = { compile() { throw new Error("unreachable node") } }',
      },
      /Error: unreachable node/,
    ],
    [
      'it is for a newer Node',
      { 'graph.json': graphJson('./bot.mjs:graph', { node_version: '999' }) },
      new RegExp(`asks for Node 999 or newer \\(node_version\\), and this is Node ${process.versions.node}`),
    ],
    [
      'the env file is no file',
      { 'graph.json': graphJson('./bot.mjs:graph', { env: 'src' }), 'src/bot.mjs': '' },
      /The env file .* could not be read/,
    ],
  ])('reports when %s', async (_case, files, reason) => {
    const error = await failure(files);
    expect(error.code).toBe('SLIPWAY_GRAPH_NOT_LOADED');
    expect(error.message).toMatch(reason);
    expect(error.message).not.toContain('\n');
  });

  it('starts without its env file, and reports where its secrets come from', async () => {
    logged.length = 0;
    const dir = await agentWith({
      'graph.json': graphJson('./bot.mjs:graph', { env: '.env' }),
      'bot.mjs': `export const graph = ${COMPILED};`,
    });
    expect([...(await loadGraphs(dir, undefined, log)).graphs.keys()]).toEqual(['bot']);
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatch(/The env file \.env.*Secrets come from the deployment's secrets/);
  });

  it('rejects a link out of the agent', async () => {
    const dir = await agentWith({ 'graph.json': graphJson('./bot.mjs:graph') });
    await writeFile(join(home, 'outside.mjs'), `export const graph = ${COMPILED};`);
    await symlink(join(home, 'outside.mjs'), join(dir, 'bot.mjs'));
    await expect(loadGraphs(dir, undefined, log)).rejects.toThrow('outside the agent');
  });

  it('reports a function that returns no graph when it is used', async () => {
    const dir = await agentWith({
      'graph.json': graphJson('./bot.mjs:graph'),
      'bot.mjs': 'export const graph = () => 1',
    });
    const { graphs } = await loadGraphs(dir, undefined, log);
    await expect(graphs.get('bot')!.resolve({})).rejects.toThrow(
      '"bot" (./bot.mjs:graph) is a function that did not return a graph',
    );
  });
});
