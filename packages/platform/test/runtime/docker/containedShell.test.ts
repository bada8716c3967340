import { createServer } from 'node:http';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { CommandEnd, Shell } from '../../../src/runtime/command.ts';
import { openContainedShell } from '../../../src/runtime/docker/containedShell.ts';
import type { Docker, DockerEnd } from '../../../src/runtime/docker/dockerCommand.ts';
import { useFolders } from '../../../../../test/support/temporaryFolder.ts';

const OWNER = { platform: 'p', process: 'q', deploymentId: 'd', revisionId: 'r' };

const home = useFolders();
/** Answers of the engine by its command, which replace the usual ones. */
let answers: Record<string, Partial<DockerEnd>>;
let calls: { readonly args: readonly string[]; readonly input?: string }[];
let notRemoved: string[];

beforeEach(() => {
  answers = { inspect: { stdout: ['exited 0'] } };
  calls = [];
  notRemoved = [];
});
afterEach(() => void vi.unstubAllEnvs());

/** An engine in which a command prints a line, and ends with 0. */
const docker: Docker = (call) => {
  calls.push(call);
  call.onLine?.('printed', false);
  const usual = { code: 0, stdout: [], stderr: [], ...answers[call.args[0] ?? ''] };
  const end: CommandEnd = { kind: 'exited', code: usual.code ?? 0 };
  return Promise.resolve({ end, ...usual });
};

function open(): Promise<Shell> {
  return openContainedShell({
    ...{ docker, image: 'i', owner: OWNER, egress: createServer },
    ...{ workspace: '/builds/d/r', scratch: join(home(), 'scratch'), memoryBytes: 256 * 1024 ** 2 },
    ...{ log: () => undefined, signal: new AbortController().signal },
    onNotRemoved: (name) => void notRemoved.push(name),
  });
}

async function run(lines: string[] = []): Promise<CommandEnd> {
  const shell = await open();
  const rest = { timeoutMs: 1_000, signal: new AbortController().signal, lineChars: 100 };
  const onLine = (line: string): void => void lines.push(line);
  return shell.run({ command: 'make it', cwd: '/builds/d/r/app', env: shell.env, onLine, ...rest });
}

const argsOf = (command: string): readonly string[] =>
  calls.find(({ args }) => args[0] === command)?.args ?? [];

describe('a command of a build', () => {
  it('runs in a container that has no network, no rights, and can write its build folder only', async () => {
    const lines: string[] = [];
    expect(await run(lines)).toEqual({ kind: 'exited', code: 0 });
    expect(lines).toEqual(['printed']);
    const line = argsOf('run').join(' ');
    expect(line).toMatch(
      /^run --name slipway-r-\w{8} --label slipway\.platform=p --label slipway\.process=q --label slipway\.deployment=d --label slipway\.revision=r --network none --read-only --tmpfs \/tmp:rw,nosuid,nodev,size=512m --cap-drop ALL --security-opt no-new-privileges --pids-limit 512 /,
    );
    expect(line).toContain(' --cpu-shares 512 --memory 256m ');
    expect(line).toContain(' --workdir /builds/d/r/app ');
    expect(line).toMatch(/ --entrypoint node .* i \S+\/containedCommand\.js \/run\/slipway make it$/);
    const mounts = argsOf('run').filter((arg) => arg.startsWith('type=bind'));
    expect(mounts.filter((mount) => !mount.endsWith(',readonly'))).toEqual([
      'type=bind,"source=/builds/d/r","target=/builds/d/r"',
      `type=bind,"source=${join(home(), 'scratch')}","target=/run/slipway-home"`,
    ]);
    expect(mounts).toContainEqual(expect.stringMatching(/,"target=\/run\/slipway",readonly$/));
    const user = process.getuid?.() === 0 ? '65532:65532' : `${process.getuid?.()}:${process.getgid?.()}`;
    expect(line).toContain(` --user ${user} `);
    const [container] = argsOf('run').slice(2);
    expect(calls.at(-1)?.args).toEqual(['rm', '--force', '--volumes', container]);
  });

  it('has of the platform’s environment only the registries’ addresses', async () => {
    vi.stubEnv('PLATFORM_MASTER_KEY', 'master-of-all');
    vi.stubEnv('npm_config_userconfig', '/home/operator/.npmrc');
    const registries = ['npm_config_registry', 'COREPACK_NPM_REGISTRY', 'YARN_NPM_REGISTRY_SERVER'];
    for (const name of registries) vi.stubEnv(name, 'https://registry.example');
    await run();
    const input = calls.find(({ args }) => args[0] === 'run')?.input ?? '';
    const names = input
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];
    expect(new Set(names)).toEqual(
      new Set([
        ...registries,
        ...['npm_config_update_notifier', 'CI', 'NO_COLOR', 'HOME', 'TMPDIR', 'PORT'],
        ...[...proxies, ...proxies.map((name) => name.toLowerCase()), 'NODE_USE_ENV_PROXY'],
        ...['YARN_HTTP_PROXY', 'YARN_HTTPS_PROXY'],
      ]),
    );
    for (const name of registries) expect(input).toContain(`${name}=https://registry.example\n`);
    expect(input).toContain('HTTPS_PROXY=http://127.0.0.1:3128\n');
  });

  it('that was stopped is reported as such, and its container is removed', async () => {
    answers['run'] = { code: null, end: { kind: 'timed_out' } };
    expect(await run()).toEqual({ kind: 'timed_out' });
    expect(argsOf('inspect')).toEqual([]);
    expect(calls.at(-1)?.args[0]).toBe('rm');
    expect(notRemoved).toEqual([]);
  });

  it.each<[string, Record<string, Partial<DockerEnd>>, string]>([
    [
      'the engine does not answer any more',
      { run: { code: 125 }, inspect: { code: 1, stderr: ['Cannot connect'] }, rm: { code: 1 } },
      'The container engine stopped answering while `make it` ran (Cannot connect). Start it, and redeploy the revision.',
    ],
    [
      'the call ended, and the container did not',
      { inspect: { stdout: ['running 0'] } },
      'The container engine stopped answering while `make it` ran (printed). Start it, and redeploy the revision.',
    ],
    [
      'the engine reports another exit code',
      { inspect: { stdout: ['exited 137'] } },
      'The container engine stopped answering while `make it` ran (printed). Start it, and redeploy the revision.',
    ],
    [
      'its container was not created',
      { run: { code: 125 }, inspect: { code: 1, stderr: ['Error: No such object: n'] } },
      'The container of the command `make it` could not be started: printed.',
    ],
    [
      'its container was not started',
      { run: { code: 127 }, inspect: { stdout: ['created 127'] } },
      'The container of the command `make it` could not be started: printed.',
    ],
  ])('fails if %s', async (_, engine, message) => {
    answers = { ...answers, ...engine };
    await expect(run()).rejects.toThrow(message);
    expect(notRemoved).toHaveLength(engine['rm'] === undefined ? 0 : 1);
  });
});

it('is not run if there is no engine, which the error says', async () => {
  answers['version'] = { code: 127 };
  await expect(open()).rejects.toThrow('This machine has no docker command');
});
