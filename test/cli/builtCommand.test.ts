import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { describe, expect, it } from 'vitest';

import { BUILT_COMMAND } from '../support/builtCommand.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

// Skipped if `dist/` is older than the sources: `npm test` builds before it runs this.
describe.skipIf(BUILT_COMMAND === undefined)('the build', () => {
  const command = readBundle('dist/command', 'main.cjs');
  const platform = readBundle('packages/platform/dist/bundle', 'index.js');

  it.each([command, platform])('contains no path of the machine that built it: $folder', ({ files }) => {
    expect(files.filter(({ text }) => text.includes(ROOT)).map(({ name }) => name)).toEqual([]);
  });

  it('has a version with the commit and the id of the worker’s bundle', () => {
    const bundle = createHash('sha256')
      .update(readFileSync(join(ROOT, 'dist/workflow-bundle.cjs')))
      .digest('hex');
    const text = execFileSync(process.execPath, [BUILT_COMMAND ?? '', '--version'], { encoding: 'utf8' });
    expect(text).toMatch(/^\d+\.\d+\.\d+ \((?:commit [0-9a-f]+(?:-dirty)?, )?bundle [0-9a-f]{12}\)\n$/);
    expect(text).toContain(`bundle ${bundle.slice(0, 12)}`);
  });

  it('prints no warning of Node about what its dependencies use', () => {
    const warn = "process.on('beforeExit', () => process.emitWarning('old', 'DeprecationWarning'))";
    const { stderr } = spawnSync(
      process.execPath,
      ['--import', `data:text/javascript,${warn}`, BUILT_COMMAND ?? '', '--version'],
      { encoding: 'utf8' },
    );
    expect(stderr).toBe('');
  });

  it('prints help without loading Temporal, the control plane’s client, the platform, the agents’ runtime and the AWS SDK', () => {
    const loaded = loadedWith(command, 'main.cjs');
    expect([...loaded.packages].filter((name) => !name.startsWith('node:'))).toEqual([]);
    expect([...loaded.bundled].sort()).toEqual(['commander']);
  });

  it.each(['status', 'release'])(
    'runs "%s" from the bundle without loading the worker, the services’ client, the dashboard and the AWS SDK',
    (name) => {
      const loaded = loadedWith(command, partNamed(name));
      expect([...loaded.packages].filter((each) => !isBuiltin(each))).toEqual([]);
      expect([...loaded.bundled].filter((each) => /^(@aws-sdk|undici$|hono$)/.test(each))).toEqual([]);
    },
  );

  it('starts an agent with the LangGraph of the agent’s graphs', () => {
    expect([...loadedWith(platform, 'agentMain.js').packages]).toContain('@langchain/langgraph');
  });

  it('loads for "slipway dev" only the lock and the key of its home from the platform', () => {
    const loaded = loadedWith(platform, 'home.js');
    expect([...loaded.packages].filter((name) => !name.startsWith('node:'))).toEqual([]);
    expect([...loaded.bundled]).toEqual([]);
  });

  it('keeps the platform out of the command', () => {
    const bundled = [...command.code.keys()].flatMap((name) => [...bundledIn(command, name)]);
    expect(bundled.filter((name) => /^(kysely|pino|@electric-sql|@langchain)/.test(name))).toEqual([]);
  });

  it('runs the worker and its activities on one copy of Temporal’s SDK, from its packages', () => {
    expect([...loadedWith(command, partNamed('worker')).packages]).toEqual(
      expect.arrayContaining([
        '@temporalio/activity',
        '@temporalio/client',
        '@temporalio/common',
        '@temporalio/worker',
      ]),
    );
    const bundled = [...command.code.keys()].flatMap((name) => [...bundledIn(command, name)]);
    expect(
      bundled.filter((name) => /^@temporalio\/(activity|core-bridge|worker|workflow)/.test(name)),
    ).toEqual([]);
  });

  it('contains the files that its modules load', () => {
    const asked = [command, platform].flatMap((bundle) =>
      [...bundle.code].flatMap(([name, text]) => filesAskedFor(bundle, name, text)),
    );
    expect(asked).toEqual(
      expect.arrayContaining([
        'bin/slipway.js',
        'packages/platform/',
        'dist/temporal/codec/failureConverter.cjs',
        'packages/platform/dist/store/pgliteWorker.js',
        'dist/workflow-bundle.cjs',
        'examples/',
        'package.json',
        'templates/',
      ]),
    );
    // The extension depends on whether it runs from its sources.
    const all = [...asked, 'dist/temporal/server/serverGuard.js'].filter((path) => !path.endsWith('.ts'));
    expect(all.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('bundles nothing that loads its own files, except unused code', () => {
    const asking = ({ code }: Bundle) => new Set([...code].flatMap(([, text]) => packagesThatAsk(text)));
    // Commander and undici only mention it; gRPC reads them for channelz; pino and thread-stream use it for logging in
    // another thread.
    expect(asking(command)).toEqual(new Set(['commander', 'undici', '@grpc/grpc-js']));
    expect(asking(platform)).toEqual(new Set(['undici', 'pino', 'thread-stream']));
  });

  it.each([command, platform])('includes the license of each bundled package: $folder', (bundle) => {
    const text = bundle.files.find(({ name }) => name === 'LICENSES.txt')?.text ?? '';
    const told = text.split(`\n${'='.repeat(80)}\n\n`);
    const names = told.map((license) => /^(?<name>\S+) \S+: \S/.exec(license)?.groups?.['name']);
    const bundled = new Set([...bundle.code.keys()].flatMap((name) => [...bundledIn(bundle, name)]));
    expect(bundled.size).toBeGreaterThan(7);
    expect([...bundled].filter((name) => !names.includes(name))).toEqual([]);
  });

  function partNamed(name: string): string {
    const [part, ...others] = [...command.code.keys()].filter((key) => key.startsWith(`${name}-`));
    if (part === undefined || others.length > 0) throw new Error(`There is not one part for "${name}".`);
    return part;
  }
});

interface Bundle {
  readonly folder: string;
  readonly build: string;
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly code: ReadonlyMap<string, string>;
}

/** Nothing is read without a build: Vitest collects skipped tests too. */
function readBundle(folder: string, main: string): Bundle {
  if (BUILT_COMMAND === undefined) return { folder, build: '', files: [], code: new Map() };
  const entry = readFileSync(join(ROOT, folder, main), 'utf8');
  const build = join(ROOT, folder, dirname(/'\.\/(?<path>.*)'/.exec(entry)?.groups?.['path'] ?? '.'));
  const files = readdirSync(build).map((name) => ({ name, text: readFileSync(join(build, name), 'utf8') }));
  const code = new Map(
    files.filter(({ name }) => /\.c?js$/.test(name)).map(({ name, text }) => [name, text]),
  );
  return { folder, build, files, code };
}

/** What loading a part loads with it at once: external packages, and packages that are partly bundled. */
function loadedWith(
  bundle: Bundle,
  part: string,
): { readonly packages: Set<string>; readonly bundled: Set<string> } {
  const packages = new Set<string>();
  const bundled = new Set<string>();
  const seen = new Set<string>();
  const follow = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    const text = bundle.code.get(name) ?? '';
    for (const [, from = ''] of text.matchAll(AT_ONCE)) {
      if (from.startsWith('./')) follow(from.slice(2));
      else packages.add(from);
    }
    for (const [, from = ''] of text.matchAll(/"loaded-by-require:([^"]+)"/g)) packages.add(from);
    for (const from of bundledIn(bundle, name)) bundled.add(from);
  };
  follow(part);
  return { packages, bundled };
}

/** What a part loads at once, as an ES module or as CommonJS. */
const AT_ONCE = /^(?:(?:import|export) (?:[^'"]*? from )?|var import_\w+ = .*?require\()"([^"]+)"/gm;

function bundledIn({ code }: Bundle, name: string): Set<string> {
  const found = (code.get(name) ?? '').matchAll(/^ *\/\/!? node_modules\/((?:@[^/]+\/)?[^/]+)\//gm);
  return new Set([...found].map(([, from = '']) => from));
}

/** Files that modules look for beside themselves, as paths relative to the project. */
function filesAskedFor({ build }: Bundle, name: string, text: string): string[] {
  const here = pathToFileURL(join(build, name));
  const places = new Map(
    [...text.matchAll(/(ownAddress\d*) = new URL\("([^"]+)", (?:import\.meta\.url|ownUrl)\)/g)].map(
      ([, variable = '', place = '']) => [variable, new URL(place, here)],
    ),
  );
  return [...text.matchAll(/new URL\("([^"]+)", (ownAddress\d*)\)/g)].map(([, path = '', variable = '']) =>
    fileURLToPath(new URL(path, places.get(variable))).slice(ROOT.length),
  );
}

/** The packages whose code in this text looks up its own location. */
function packagesThatAsk(text: string): string[] {
  let current = '';
  return text.split('\n').flatMap((line) => {
    const module = /^ *\/\/!? (?<path>(?:node_modules|dist|packages)\/\S+)$/.exec(line)?.groups?.['path'];
    if (module !== undefined) current = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(module)?.[1] ?? '';
    return current !== '' && /\b__(dir|file)name\b|\bimport\.meta\b/.test(line) ? [current] : [];
  });
}
