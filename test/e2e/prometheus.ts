import { spawn, type ChildProcess, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { stringify } from 'yaml';

import { eventually } from './stack.ts';
import { freePort } from '../support/listen.ts';

export const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0;

const RULES = fileURLToPath(new URL('../../deploy/prometheus/alerts.yml', import.meta.url));

/** The current value of an expression: the labels and the value of each series. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A real Prometheus with the alert rules of `deploy/`. It scrapes every second. */
export class Prometheus {
  readonly #process: ChildProcess;
  readonly #url: string;
  #output = '';

  private constructor(process: ChildProcess, url: string) {
    this.#process = process;
    this.#url = url;
    const keep = (chunk: Buffer): void => void (this.#output += chunk.toString('utf8'));
    process.stderr?.on('data', keep);
    process.stdout?.on('data', keep);
  }

  /** @param targets - the addresses that it scrapes, by job name. */
  static async start(parent: string, targets: Readonly<Record<string, string>>): Promise<Prometheus> {
    const folder = join(parent, 'prometheus');
    await mkdir(folder);
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [RULES],
      scrape_configs: Object.entries(targets).map(([job, address]) => ({
        job_name: job,
        static_configs: [{ targets: [address] }],
      })),
    };
    await writeFile(join(folder, 'prometheus.yml'), stringify(config));
    const address = `127.0.0.1:${await freePort()}`;
    const child = spawn(
      'prometheus',
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=${address}`,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder },
    );
    const prometheus = new Prometheus(child, `http://${address}`);
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(prometheus.#output);
      await fetch(`${prometheus.#url}/-/ready`);
    });
    return prometheus;
  }

  get url(): string {
    return this.#url;
  }

  async query(expression: string): Promise<readonly Sample[]> {
    const answer = await fetch(`${this.#url}/api/v1/query?query=${encodeURIComponent(expression)}`);
    const { status, error, data } = (await answer.json()) as {
      readonly status: string;
      readonly error?: string;
      readonly data?: {
        readonly result: readonly { metric: Record<string, string>; value: [number, string] }[];
      };
    };
    if (status !== 'success') throw new Error(`${expression}: ${error ?? ''}`);
    return (data?.result ?? []).map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  }

  /** Waits until an expression has one value that matches, and returns it. */
  async value(
    expression: string,
    isWanted: (value: number) => boolean = (value) => value > 0,
  ): Promise<number> {
    return eventually(async () => {
      const samples = await this.query(expression);
      const [sample] = samples;
      if (samples.length !== 1 || sample === undefined || !isWanted(sample.value))
        throw new Error(`${expression} is ${JSON.stringify(samples)}`);
      return sample.value;
    });
  }

  async names(): Promise<readonly string[]> {
    const answer = await fetch(`${this.#url}/api/v1/label/__name__/values`);
    return ((await answer.json()) as { readonly data: readonly string[] }).data;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    this.#process.kill('SIGKILL');
    await once(this.#process, 'exit');
  }
}
