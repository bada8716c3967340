import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { describe, expect, it } from 'vitest';

import { BUILT_COMMAND } from '../platform/builtCommand.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

// Where `dist/` is older than `src/` there is nothing to look at: `npm test` builds before it runs this.
describe.skipIf(BUILT_COMMAND === undefined)('the built command', () => {
  const build = builtNow();
  // Nothing is read where nothing is built: skipped tests are gathered all the same.
  const names = BUILT_COMMAND === undefined ? [] : readdirSync(build);
  const files = names.map((name) => ({ name, text: readFileSync(join(build, name), 'utf8') }));
  const code = new Map(
    files.filter(({ name }) => name.endsWith('.js')).map(({ name, text }) => [name, text]),
  );

  it('names no place of the machine that built it', () => {
    expect(files.filter(({ text }) => text.includes(ROOT)).map(({ name }) => name)).toEqual([]);
  });

  it('helps without Temporal, the control plane’s client, the platform, the agents’ runtime and the AWS SDK', () => {
    const loaded = loadedWith('main.js');
    expect([...loaded.packages].filter((name) => !name.startsWith('node:'))).toEqual([]);
    expect([...loaded.bundled].sort()).toEqual(['commander']);
  });

  it('tells the status without the worker, the platform, the agents’ runtime and the AWS SDK', () => {
    const loaded = loadedWith(partNamed('status'));
    expect([...loaded.packages].filter((name) => name.startsWith('@')).sort()).toEqual([
      '@grpc/grpc-js',
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/common/lib/time.js',
      '@temporalio/envconfig',
      '@temporalio/workflow',
    ]);
    expect([...loaded.bundled]).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(@aws-sdk|hono|kysely)/)]),
    );
  });

  it('starts an agent without Temporal and the AWS SDK, with the LangGraph that the agent’s graphs have', () => {
    const loaded = loadedWith(partNamed('agent'));
    expect([...loaded.packages]).toContain('@langchain/langgraph');
    expect(
      [...loaded.packages, ...loaded.bundled].filter((name) => /^@(temporalio|aws-sdk)/.test(name)),
    ).toEqual([]);
  });

  it('runs the worker and its activities on one copy of Temporal’s SDK, from its packages', () => {
    expect([...loadedWith(partNamed('worker')).packages]).toEqual(
      expect.arrayContaining([
        '@temporalio/activity',
        '@temporalio/client',
        '@temporalio/common',
        '@temporalio/worker',
      ]),
    );
    expect([...code.keys()].flatMap((name) => [...bundledIn(name)])).not.toContain('@temporalio/client');
  });

  it('finds beside its modules what they look for there', () => {
    const asked = [...code].flatMap(([name, text]) => filesAskedFor(name, text));
    expect(asked).toEqual(
      expect.arrayContaining([
        'bin/slipway.js',
        'dist/platform/store/pgliteWorker.js',
        'dist/workflow-bundle.js',
        'examples/',
        'package.json',
        'templates/',
      ]),
    );
    // Which of two it is depends on whether it runs from its source.
    const all = [...asked, 'dist/temporal/serverGuard.js'].filter((path) => !path.endsWith('.ts'));
    expect(all.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('bundles nothing that looks for files of its own, but for what is never used', () => {
    const asking = [...code].flatMap(([, text]) => packagesThatAsk(text));
    // Commander and undici only mention it; pino's and thread-stream's is for logging in another thread.
    expect(new Set(asking)).toEqual(new Set(['commander', 'undici', 'pino', 'thread-stream']));
  });

  it('brings the license of each package that it holds', () => {
    const told = readFileSync(join(build, 'LICENSES.txt'), 'utf8').split(`\n${'='.repeat(80)}\n\n`);
    const names = told.map((license) => /^(?<name>\S+) \S+: \S/.exec(license)?.groups?.['name']);
    const bundled = new Set([...code.keys()].flatMap((name) => [...bundledIn(name)]));
    expect(bundled.size).toBeGreaterThan(20);
    expect([...bundled].filter((name) => !names.includes(name))).toEqual([]);
  });

  /** What loading a part loads with it, at once: packages from outside, and packages of which it holds something. */
  function loadedWith(part: string): { readonly packages: Set<string>; readonly bundled: Set<string> } {
    const packages = new Set<string>();
    const bundled = new Set<string>();
    const seen = new Set<string>();
    const follow = (name: string): void => {
      if (seen.has(name)) return;
      seen.add(name);
      const text = code.get(name) ?? '';
      for (const [, from = ''] of text.matchAll(/^(?:import|export) (?:[^'"]*? from )?"([^"]+)";$/gm)) {
        if (from.startsWith('./')) follow(from.slice(2));
        else packages.add(from);
      }
      for (const [, from = ''] of text.matchAll(/module\.exports = __require\("([^"]+)"\);/g))
        packages.add(from);
      for (const from of bundledIn(name)) bundled.add(from);
    };
    follow(part);
    return { packages, bundled };
  }

  function bundledIn(name: string): Set<string> {
    const found = (code.get(name) ?? '').matchAll(/^ *\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm);
    return new Set([...found].map(([, from = '']) => from));
  }

  function partNamed(command: string): string {
    const [part, ...others] = [...code.keys()].filter((name) => name.startsWith(`${command}-`));
    if (part === undefined || others.length > 0) throw new Error(`There is not one part for "${command}".`);
    return part;
  }

  /** Paths relative to the project, of what modules look for beside themselves. */
  function filesAskedFor(name: string, text: string): string[] {
    const here = pathToFileURL(join(build, name));
    const places = new Map(
      [...text.matchAll(/(ownAddress\d*) = new URL\("([^"]+)", import\.meta\.url\)/g)].map(
        ([, variable = '', place = '']) => [variable, new URL(place, here)],
      ),
    );
    return [...text.matchAll(/new URL\("([^"]+)", (ownAddress\d*)\)/g)].map(([, path = '', variable = '']) =>
      fileURLToPath(new URL(path, places.get(variable))).slice(ROOT.length),
    );
  }

  /** The packages whose code in this text asks where it lies. */
  function packagesThatAsk(text: string): string[] {
    let current = '';
    return text.split('\n').flatMap((line) => {
      const module = /^ *\/\/ (?<path>(?:node_modules|dist)\/\S+)$/.exec(line)?.groups?.['path'];
      if (module !== undefined) current = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1] ?? '';
      return current !== '' && /\b__(dir|file)name\b|\bimport\.meta\b/.test(line) ? [current] : [];
    });
  }
});

/** The folder of the build that counts. */
function builtNow(): string {
  const command = join(ROOT, 'dist/command');
  const entry = existsSync(join(command, 'main.js')) ? readFileSync(join(command, 'main.js'), 'utf8') : '';
  return join(command, dirname(/'\.\/(?<path>.*)'/.exec(entry)?.groups?.['path'] ?? '.'));
}
