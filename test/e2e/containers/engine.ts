import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { BUILT_COMMAND } from '../../support/builtCommand.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** What agents and builds run in. */
export const NODE = `docker.io/library/node:${process.versions.node}-bookworm-slim`;

interface End {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Podman to the end of the command; killed after `timeoutMs`. Default: two minutes. */
export async function podman(args: readonly string[], timeoutMs = 120_000): Promise<End> {
  return await new Promise((resolve) => {
    const options = { cwd: ROOT, timeout: timeoutMs, maxBuffer: 64 * 1_024 * 1_024 };
    execFile('podman', args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout: stdout.trim(), stderr: stderr.trim() });
    });
  });
}

/** Runs Podman, and answers what it printed. @throws with everything that it printed, if it fails. */
export async function mustPodman(args: readonly string[], timeoutMs?: number): Promise<string> {
  const { code, stdout, stderr } = await podman(args, timeoutMs);
  if (code !== 0) throw new Error(`podman ${args.join(' ')}: exit code ${code}\n${stdout}\n${stderr}`);
  return stdout;
}

/** What agents and builds in containers lack here, which is printed; `undefined`: nothing. */
export async function missingFor(what: string): Promise<string | undefined> {
  const missing =
    BUILT_COMMAND === undefined
      ? 'nothing is built: npm run build'
      : (await podman(['image', 'exists', NODE])).code === 0
        ? undefined
        : `Podman has no image ${NODE}: run test/e2e/containers/prepare.sh as root, on Debian`;
  if (missing !== undefined) process.stdout.write(`skipped: ${what}: ${missing}\n`);
  return missing;
}

/** Images of others by the service that runs them: the one that the file names, else its stand-in (`prepare.sh`). */
const OTHERS = ['postgres', 'temporal', 'temporal-ui', 'caddy'] as const;

/** What these tests run on. */
export interface Images {
  /** Of the services that are not Slipway. */
  readonly others: Readonly<Record<string, string>>;
  /** What Slipway's image is built on. */
  readonly node: string;
}

/**
 * Finds the images that these tests need.
 * @param named - the images that the files of the composition name, by service.
 * @param node - the base that the Dockerfile names.
 * @returns a sentence that says what is missing, if something is.
 */
export async function findImages(
  named: Readonly<Record<string, string>>,
  node: string,
): Promise<Images | string> {
  if (!existsSync('/proc') || (await podman(['version'])).code !== 0) {
    return 'Podman does not answer: run test/e2e/containers/prepare.sh as root, on Debian';
  }
  const first = async (candidates: readonly string[]): Promise<string | undefined> => {
    for (const image of candidates) {
      if ((await podman(['image', 'exists', image])).code === 0) return image;
    }
    return undefined;
  };
  const others: Record<string, string> = {};
  for (const service of OTHERS) {
    const official = named[service] ?? '';
    const prefix = official.includes('/') ? 'docker.io' : 'docker.io/library';
    const found = await first([`${prefix}/${official}`, `localhost/slipway-test/${service}`]);
    if (found === undefined) return `there is no image of ${official}: run test/e2e/containers/prepare.sh`;
    others[service] = found;
  }
  const base = await first([`docker.io/library/${node}`, NODE]);
  return base === undefined
    ? `there is no image of ${node}: run test/e2e/containers/prepare.sh`
    : { others, node: base };
}

/** Builds Slipway's image; `commit` is what its `--version` names, so that two images differ. */
export async function buildImage(tag: string, commit: string, node: string): Promise<void> {
  const args = ['--build-arg', `NODE_IMAGE=${node}`, '--build-arg', `SLIPWAY_COMMIT=${commit}`];
  await mustPodman(['build', '--network', 'host', ...args, '--tag', tag, ROOT], 30 * 60_000);
}
