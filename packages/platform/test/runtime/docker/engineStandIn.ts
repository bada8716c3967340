import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { vi } from 'vitest';

/** A container as the stand-in keeps it: `told` are the options of `docker run`. */
export interface StandInContainer {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly labels: Record<string, string>;
  readonly pid: number;
  readonly port: number;
  readonly told: Record<string, unknown>;
}

/** A machine with a container engine, as far as the docker command shows it (`fixtures/docker.mjs`). */
export class EngineStandIn {
  readonly command = fileURLToPath(new URL('fixtures/docker.mjs', import.meta.url));
  readonly home: string;

  constructor(home: string) {
    this.home = home;
  }

  static async open(): Promise<EngineStandIn> {
    const home = await mkdtemp(join(tmpdir(), 'slipway-docker-'));
    vi.stubEnv('DOCKER_CONFIG', home);
    return new EngineStandIn(home);
  }

  /** What the registry has: the name of an image, and how it behaves (`fixtures/image.mjs`). */
  async registry(images: Record<string, string>): Promise<void> {
    await writeFile(join(this.home, 'registry'), JSON.stringify(images));
  }

  /** An image that the engine has without a registry. */
  async hold(name: string, behavior: string): Promise<void> {
    await mkdir(join(this.home, 'images'), { recursive: true });
    await writeFile(join(this.home, 'images', encodeURIComponent(name)), behavior);
  }

  async images(): Promise<string[]> {
    const folder = join(this.home, 'images');
    return existsSync(folder) ? (await readdir(folder)).map(decodeURIComponent) : [];
  }

  async containers(): Promise<StandInContainer[]> {
    const folder = join(this.home, 'containers');
    if (!existsSync(folder)) return [];
    const names = await readdir(folder);
    const files = names.map((name) => readFile(join(folder, name, 'container.json'), 'utf8').catch(() => ''));
    return (await Promise.all(files)).flatMap((text) =>
      text === '' ? [] : [JSON.parse(text) as StandInContainer],
    );
  }

  /** Every call of the command so far: its arguments, and the names of what it had in its environment. */
  async calls(): Promise<{ args: string[]; env: string[] }[]> {
    const text = await readFile(join(this.home, 'calls'), 'utf8').catch(() => '');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { args: string[]; env: string[] });
  }

  /** Whether the engine behind the command answers. */
  async answers(isUp: boolean): Promise<void> {
    const file = join(this.home, 'engine-is-down');
    if (isUp) await rm(file, { force: true });
    else await writeFile(file, '');
  }

  /** Ends what runs still. */
  async close(): Promise<void> {
    for (const { pid } of await this.containers()) {
      try {
        process.kill(-pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    vi.unstubAllEnvs();
    await rm(this.home, { recursive: true, force: true, maxRetries: 3 });
  }
}
