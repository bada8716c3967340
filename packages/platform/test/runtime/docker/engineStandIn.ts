import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { vi } from 'vitest';

/** A container of the stand-in. `told`: the lines `OPTION=VALUE` of its `docker run`. */
export interface StandInContainer {
  readonly name: string;
  readonly pid: number;
  readonly told: readonly string[];
  readonly deploymentId: string | undefined;
  readonly revisionId: string | undefined;
}

/** A stand-in for a container engine behind the docker command (`fixtures/docker.sh`). */
export class EngineStandIn {
  readonly command = fileURLToPath(new URL('fixtures/docker.sh', import.meta.url));
  readonly home: string;

  constructor(home: string) {
    this.home = home;
  }

  static async open(): Promise<EngineStandIn> {
    const home = await mkdtemp(join(tmpdir(), 'slipway-docker-'));
    vi.stubEnv('DOCKER_CONFIG', home);
    return new EngineStandIn(home);
  }

  /** Sets the registry's content: image names, and their behavior (`fixtures/image.mjs`). */
  async registry(images: Record<string, string>): Promise<void> {
    await rm(join(this.home, 'registry'), { recursive: true, force: true });
    for (const [name, behavior] of Object.entries(images)) await this.#put('registry', name, behavior);
  }

  /** Adds an image to the engine, without a registry. */
  async hold(name: string, behavior: string): Promise<void> {
    await this.#put('images', name, behavior);
  }

  async #put(folder: string, name: string, behavior: string): Promise<void> {
    await mkdir(join(this.home, folder), { recursive: true });
    await writeFile(join(this.home, folder, encodeURIComponent(name)), behavior);
  }

  async images(): Promise<string[]> {
    return (await this.#namesIn('images')).map(decodeURIComponent);
  }

  async containers(): Promise<StandInContainer[]> {
    const found: StandInContainer[] = [];
    for (const name of await this.#namesIn('containers')) {
      const read = (file: string) =>
        readFile(join(this.home, 'containers', name, file), 'utf8').catch(() => '');
      // Its options are written last. Without them, it is being started or removed.
      const told = (await read('told')).split('\n');
      if (told.length === 1) continue;
      const labeled = (label: string) =>
        told.find((line) => line.startsWith(`label=${label}=`))?.slice(`label=${label}=`.length);
      found.push({
        name,
        pid: Number(await read('pid')),
        told,
        deploymentId: labeled('slipway.deployment'),
        revisionId: labeled('slipway.revision'),
      });
    }
    return found;
  }

  async calls(): Promise<string> {
    return readFile(join(this.home, 'calls'), 'utf8');
  }

  async #namesIn(folder: string): Promise<string[]> {
    return readdir(join(this.home, folder)).catch(() => []);
  }

  /** Sets whether the engine behind the command answers. */
  async answers(isUp: boolean): Promise<void> {
    const file = join(this.home, 'engine-is-down');
    if (isUp) await rm(file, { force: true });
    else await writeFile(file, '');
  }

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
