import { execFile } from 'node:child_process';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../../../test/support/temporaryFolder.ts';

const RUN = fileURLToPath(new URL('../run.sh', import.meta.url));

const folder = useFolder();
beforeAll(async () => {
  const bin = join(folder, '.tool/node_modules/slipway/bin');
  await mkdir(bin, { recursive: true });
  await copyFile(RUN, join(folder, 'run.sh'));
  // A stand-in for the command that prints its arguments.
  await writeFile(
    join(bin, 'slipway.js'),
    `console.log(JSON.stringify({ words: process.argv.slice(2), temporal: Object.keys(process.env).filter((name) => name.startsWith('TEMPORAL_')) }));
process.exitCode = Number(process.env.EXIT ?? 0);`,
  );
});

async function ran(
  environment: Readonly<Record<string, string>>,
): Promise<{ words: string[]; temporal: string[] }> {
  const env = { PATH: process.env['PATH'], ...environment };
  const { stdout } = await promisify(execFile)('bash', [join(folder, 'run.sh')], { env });
  return JSON.parse(stdout) as { words: string[]; temporal: string[] };
}

describe('what CI runs', () => {
  it('is a release of the only target by default', async () => {
    expect((await ran({})).words).toEqual(['release']);
  });

  it('passes on every input as one word, and runs none of it as a command', async () => {
    const reason = 'it\'s "$(touch hacked)"; `id`\nand more';
    const { words } = await ran({
      SLIPWAY_INPUT_COMMAND: 'rollback',
      SLIPWAY_INPUT_TARGET: 'production',
      SLIPWAY_INPUT_REASON: reason,
      SLIPWAY_INPUT_CONFIG: 'a b/slipway.yaml',
      SLIPWAY_INPUT_TIMEOUT: '5m',
      SLIPWAY_INPUT_WAIT: 'false',
      SLIPWAY_INPUT_ARGUMENTS: '--to=0f5c\n\n--strict',
    });
    expect(words).toEqual([
      ...['rollback', 'production', '--config', 'a b/slipway.yaml', '--reason', reason, '--timeout', '5m'],
      ...['--no-wait', '--to=0f5c', '--strict'],
    ]);
  });

  it('does not pass --no-wait to a command that never waits', async () => {
    const { words } = await ran({
      SLIPWAY_INPUT_COMMAND: 'status',
      SLIPWAY_INPUT_WAIT: 'false',
      SLIPWAY_INPUT_TIMEOUT: '5m',
    });
    expect(words).toEqual(['status']);
  });

  it('limits how long "watch" follows, which always waits', async () => {
    const { words } = await ran({
      SLIPWAY_INPUT_COMMAND: 'watch',
      SLIPWAY_INPUT_WAIT: 'false',
      SLIPWAY_INPUT_TIMEOUT: '5m',
    });
    expect(words).toEqual(['watch', '--timeout', '5m']);
  });

  it('treats empty settings as absent', async () => {
    const { temporal } = await ran({
      TEMPORAL_ADDRESS: 'host:7233',
      TEMPORAL_API_KEY: '',
      TEMPORAL_NAMESPACE: '',
    });
    expect(temporal).toEqual(['TEMPORAL_ADDRESS']);
  });

  it('ends with the exit code of the command', async () => {
    await expect(ran({ EXIT: '2' })).rejects.toMatchObject({ code: 2 });
  });
});
