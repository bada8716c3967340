import { mkdtemp, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { printError } from '../../../src/cli/ui/errorReport.ts';
import { ConfigError } from '../../../src/config/configError.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import { temporaryFolder } from '../../support/temporaryFolder.ts';
import { testOutput } from '../testOutput.ts';

const error = new SlipwayError('SLIPWAY_NO_WORKER', 'no worker polls', {
  place: 'task queue "slipway"',
  hint: 'start one',
  cause: new Error('the cause'),
});

const ROOT = new URL('../../../', import.meta.url);

describe('printing an error', () => {
  it('shows the code, the message, the place, the hint and the page, and exits with its code', () => {
    const output = testOutput();
    expect(printError(output, error)).toBe(6);
    expect(output.noted).toEqual([
      'error SLIPWAY_NO_WORKER: no worker polls',
      '  at task queue "slipway"',
      '  start one',
      '  docs/errors.md#slipway_no_worker',
    ]);
    expect(output.said).toEqual([]);
  });

  it('prints one object with --json', () => {
    const output = testOutput({ json: true });
    expect(printError(output, error)).toBe(6);
    expect(output.events).toEqual([
      {
        event: 'error',
        code: 'SLIPWAY_NO_WORKER',
        message: 'no worker polls',
        place: 'task queue "slipway"',
        hint: 'start one',
        exitCode: 6,
      },
    ]);
  });

  it('shows the cause with --verbose only', () => {
    const quiet = testOutput();
    printError(quiet, error);
    expect(quiet.noted.join('\n')).not.toContain('the cause');
    const verbose = testOutput({ verbose: true });
    printError(verbose, error);
    expect(verbose.noted.join('\n')).toContain('the cause');
    const json = testOutput({ verbose: true, json: true });
    printError(json, error);
    expect(json.events[0]!['stack']).toContain('the cause');
  });

  it('names each problem of a configuration with its line and a caret, as lint does', () => {
    const place = {
      file: 'slipway.yaml',
      line: 3,
      column: 5,
      length: 2,
      path: 'targets.a',
      excerpt: '    a: 12',
    };
    const problem = { ...place, severity: 'error' as const, message: 'expected text' };
    const output = testOutput();
    expect(printError(output, new ConfigError('slipway.yaml', [problem]))).toBe(1);
    expect(output.noted).toEqual([
      'slipway.yaml:3:5 error targets.a: expected text',
      '  3 |     a: 12',
      '    |     ^^',
      'error SLIPWAY_CONFIG_INVALID: slipway.yaml is not valid',
      '  correct the file; docs/slipway.schema.json describes every field',
      '  docs/errors.md#slipway_config_invalid',
    ]);
    const json = testOutput({ json: true });
    printError(json, new ConfigError('slipway.yaml', [problem]));
    expect(json.events).toMatchObject([
      { event: 'problem', ...problem },
      { event: 'error', code: 'SLIPWAY_CONFIG_INVALID', place: 'slipway.yaml:3:5' },
    ]);
  });

  it('calls an unexpected error an internal one', () => {
    const output = testOutput();
    expect(printError(output, new TypeError('x is undefined'))).toBe(3);
    expect(output.noted[0]).toBe('error SLIPWAY_INTERNAL: x is undefined');
  });

  it('reports a full disk, with the command to try', () => {
    const output = testOutput();
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    expect(printError(output, full)).toBe(1);
    expect(output.noted[0]).toMatch(/^error SLIPWAY_DISK_FULL: /);
  });

  it('reports a folder for temporary files that cannot be written', async () => {
    const output = testOutput();
    const folder = join(await temporaryFolder(), 'missing', 'a-');
    const error: unknown = await mkdtemp(folder).catch((thrown: unknown) => thrown);
    expect(printError(output, error)).toBe(1);
    expect(output.noted.join('\n')).toMatch(/^error SLIPWAY_USAGE: no temporary folder .*\n.*set TMPDIR/u);
  });

  it('reports a file that this user may not write, as in a volume of another owner', () => {
    const output = testOutput();
    const message = "EACCES: permission denied, open '/data/platform.lock'";
    const refused = Object.assign(new Error(message), { code: 'EACCES', path: '/data/platform.lock' });
    expect(printError(output, refused)).toBe(1);
    expect(output.noted.join('\n')).toMatch(/^error SLIPWAY_USAGE: .*platform\.lock'\n.*SLIPWAY_HOME/u);
  });

  it.each([
    ['a home that is no folder', { code: 'ENOTDIR', path: '/dev/null/slipway' }, 'a file cannot be used'],
    ['a user without a home', { code: 'ERR_SYSTEM_ERROR', syscall: 'uv_os_homedir' }, 'set HOME'],
    ['an unknown user', { code: 'ERR_SYSTEM_ERROR', syscall: 'uv_os_get_passwd' }, 'set HOME'],
  ])('reports %s, which is no fault of Slipway', (_what, fields, text) => {
    const output = testOutput();
    expect(printError(output, Object.assign(new Error('no'), fields))).toBe(1);
    expect(output.noted.join('\n')).toContain(text);
  });

  it('reports a missing file of Slipway itself, with the command to try', async () => {
    const file = fileURLToPath(new URL('../../../dist/missing.cjs', import.meta.url));
    const { resolve } = createRequire(import.meta.url);
    const loads: readonly (() => unknown)[] = [() => readFile(file), () => resolve(file)];
    for (const load of loads) {
      const output = testOutput();
      const error: unknown = await Promise.resolve()
        .then(load)
        .catch((thrown: unknown) => thrown);
      expect(printError(output, error)).toBe(1);
      expect(output.noted.join('\n')).toMatch(
        /^error SLIPWAY_INSTALLATION_DAMAGED: .*missing\.cjs'\n.*npm run build/u,
      );
    }
  });

  it.each([
    ['command', `SyntaxError: Unexpected end of input`, fileURLToPath(new URL('dist/a.cjs:1', ROOT))],
    ['workflow bundle', `Error: Can't extract inlined source map from the provided Workflow Bundle`, ''],
  ])('reports an incomplete file of Slipway itself: the %s', (_, thrown, place) => {
    const output = testOutput();
    const error = Object.assign(new Error(thrown.replace(/^\w+: /u, '')), { stack: `${place}\n${thrown}` });
    expect(printError(output, error)).toBe(1);
    expect(output.noted.join('\n')).toMatch(
      /^error SLIPWAY_INSTALLATION_DAMAGED: .* damaged: .*npm run build/su,
    );
    expect(output.noted.join('\n')).toContain(place);
  });

  it('shows the cause of an unexpected error', () => {
    const output = testOutput();
    printError(output, new Error('the query failed', { cause: new Error('no such workflow') }));
    expect(output.noted[0]).toBe('error SLIPWAY_INTERNAL: the query failed: no such workflow');
  });
});
