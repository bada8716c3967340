import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { eventually } from '../stack.ts';
import { type ComposeFile, readCompose, type Service } from './composeFile.ts';
import { mustPodman, podman } from './engine.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** From a service's start to its health: a loaded machine with two cores sets Temporal's schemas up in a minute. */
const HEALTHY_MS = 240_000;

/** What a composition is started with. */
export interface CompositionOptions {
  /** Names its containers, networks and volumes. */
  readonly name: string;
  /** The values of `.env`. */
  readonly env: Readonly<Record<string, string>>;
  /** Other images than those of the files, by service. */
  readonly images: Readonly<Record<string, string>>;
  /** What the test adds to the services: volumes and variables. */
  readonly added: Readonly<Record<string, Pick<Service, 'volumes' | 'environment'>>>;
}

/**
 * The services of docker-compose.yml and docker-compose.tls.yml on Podman: the same images, commands, variables, networks,
 * volumes, rights, limits of logs and health checks. No ports of the host are taken, so that nothing else on the machine is in the way. Podman has systemd run health checks; here, the test runs them.
 */
export class Composition {
  readonly file: ComposeFile;
  readonly #options: CompositionOptions;
  readonly #images: Record<string, string>;

  constructor(options: CompositionOptions) {
    this.#options = options;
    this.#images = { ...options.images };
    this.file = readCompose(options.env);
  }

  container(service: string): string {
    return `${this.#options.name}-${service}`;
  }

  /** Starts every service, each after the health of what it needs. */
  async up(): Promise<void> {
    for (const [name, { internal, driver_opts: options, ipam }] of Object.entries(this.file.networks)) {
      const [{ subnet = '', ip_range: range = '' } = {}] = ipam?.config ?? [];
      await mustPodman([
        ...['network', 'create'],
        ...(internal === true ? ['--internal'] : []),
        ...Object.entries(options ?? {}).flatMap(([option, value]) => ['--opt', `${option}=${value}`]),
        ...(subnet === '' ? [] : ['--subnet', subnet]),
        ...(range === '' ? [] : ['--ip-range', range]),
        this.#named(name),
      ]);
    }
    for (const service of this.#inOrder()) {
      await this.start(service);
      await this.healthy(service);
    }
    for (const network of Object.keys(this.file.networks)) await this.#fixAddress(network);
  }

  /**
   * Sets a bridge's MAC address to what it is. Netavark before 1.9 does not, and the kernel then changes it when containers
   * start and stop: the others send to the old one for up to half a minute (containers/netavark#833).
   */
  async #fixAddress(network: string): Promise<void> {
    const format = ['--format', '{{.NetworkInterface}}'];
    const bridge = await mustPodman(['network', 'inspect', ...format, this.#named(network)]);
    const address = await readFile(`/sys/class/net/${bridge}/address`, 'utf8');
    await promisify(execFile)('ip', ['link', 'set', 'dev', bridge, 'address', address.trim()]);
  }

  async start(service: string): Promise<void> {
    await mustPodman([
      ...[
        'run',
        '--detach',
        '--name',
        this.container(service),
        '--label',
        `slipway.test=${this.#options.name}`,
      ],
      ...this.#arguments(service),
      ...this.#command(service),
    ]);
  }

  /** Waits until the service's own health check passes. @throws with its last log lines. */
  async healthy(service: string): Promise<void> {
    try {
      await eventually(async () => {
        const [, ...check] = this.#service(service).healthcheck.test;
        await mustPodman(['exec', this.container(service), ...check]);
      }, HEALTHY_MS);
    } catch (error) {
      const { stdout, stderr } = await podman(['logs', '--tail', '50', this.container(service)]);
      throw new Error(`${service} is not healthy\n${stdout}\n${stderr}`, { cause: error });
    }
  }

  /** `kill -9` of the container's first process, as the machine's kernel would: the engine starts it again. */
  async kill(service: string): Promise<void> {
    const [pid, before] = await this.#state(service);
    process.kill(pid, 'SIGKILL');
    await eventually(async () => {
      const [now, restarts] = await this.#state(service);
      if (now === 0 || restarts === before) throw new Error(`${service} was not started again`);
    });
  }

  /** Runs another image from now on: the container is stopped with its grace period, removed, and made anew. */
  async upgrade(service: string, image: string): Promise<void> {
    this.#images[service] = image;
    await mustPodman(['stop', this.container(service)]);
    await mustPodman(['rm', this.container(service)]);
    await this.start(service);
  }

  /** Runs a command in a container of its own, as `compose run --rm SERVICE` does. */
  async run(
    service: string,
    command: readonly string[],
    mounted: string,
  ): Promise<{ code: number; text: string }> {
    const { code, stdout, stderr } = await podman(
      [
        ...['run', '--rm', '--label', `slipway.test=${this.#options.name}`],
        ...['--volume', `${mounted}:/source:ro`, '--workdir', '/source'],
        ...this.#arguments(service, { asService: false }),
        ...command,
      ],
      10 * 60_000,
    );
    return { code, text: `${stdout}\n${stderr}` };
  }

  /** Runs a command in a running container. */
  async exec(service: string, ...command: string[]): Promise<{ code: number; text: string }> {
    const { code, stdout, stderr } = await podman(['exec', this.container(service), ...command]);
    return { code, text: `${stdout}\n${stderr}`.trim() };
  }

  async addressOf(service: string, network: string): Promise<string> {
    const format = `{{(index .NetworkSettings.Networks "${this.#named(network)}").IPAddress}}`;
    return await mustPodman(['inspect', '--format', format, this.container(service)]);
  }

  async down(): Promise<void> {
    const label = `label=slipway.test=${this.#options.name}`;
    const { stdout } = await podman(['ps', '--all', '--quiet', '--filter', label]);
    const ids = stdout.split('\n').filter(Boolean);
    if (ids.length > 0) await podman(['rm', '--force', '--time', '0', ...ids]);
    await podman([
      'network',
      'rm',
      '--force',
      ...Object.keys(this.file.networks).map((name) => this.#named(name)),
    ]);
    await podman([
      'volume',
      'rm',
      '--force',
      ...Object.keys(this.file.volumes).map((name) => this.#named(name)),
    ]);
  }

  #named(thing: string): string {
    return `${this.#options.name}_${thing}`;
  }

  #service(name: string): Service {
    const service = this.file.services[name];
    if (service === undefined) throw new Error(`no service ${name}`);
    return service;
  }

  #inOrder(): readonly string[] {
    const ordered = new Set<string>();
    const add = (name: string): void => {
      for (const needed of Object.keys(this.#service(name).depends_on ?? {})) add(needed);
      ordered.add(name);
    };
    // One with a profile is started on request only.
    for (const [name, { profiles }] of Object.entries(this.file.services))
      if (profiles === undefined) add(name);
    return [...ordered];
  }

  async #state(service: string): Promise<readonly [pid: number, restarts: number]> {
    const format = '{{.State.Pid}} {{.RestartCount}}';
    const [pid = 0, restarts = 0] = (
      await mustPodman(['inspect', '--format', format, this.container(service)])
    )
      .split(' ')
      .map(Number);
    return [pid, restarts];
  }

  #command(name: string): readonly string[] {
    return this.#service(name).command ?? [];
  }

  #arguments(name: string, { asService = true } = {}): readonly string[] {
    const service = this.#service(name);
    const added = this.#options.added[name] ?? {};
    const { networks } = service;
    const places = Object.entries(networks).map(([network, own]) => {
      const aliases = [...(asService ? [name] : []), ...(own?.aliases ?? [])].map(
        (alias) => `alias=${alias}`,
      );
      const address = own?.ipv4_address === undefined ? [] : [`ip=${own.ipv4_address}`];
      return [this.#named(network), [...aliases, ...address].join(',')].filter(Boolean).join(':');
    });
    const flags: readonly (readonly [string, readonly (string | undefined)[]])[] = [
      ['--network', places],
      [
        '--env',
        Object.entries({ ...service.environment, ...added.environment }).map((pair) => pair.join('=')),
      ],
      [
        '--volume',
        [...(service.volumes ?? []), ...(added.volumes ?? [])].map((volume) => this.#volume(volume)),
      ],
      ['--dns-option', service.dns_opt ?? []],
      ['--tmpfs', service.tmpfs ?? []],
      ['--cap-drop', service.cap_drop ?? []],
      ['--cap-add', service.cap_add ?? []],
      ['--security-opt', (service.security_opt ?? []).map((option) => option.replace(/:true$/, ''))],
      ['--log-driver', [service.logging.driver]],
      ['--log-opt', Object.entries(service.logging.options).map((pair) => pair.join('='))],
    ];
    const serviceFlags = [
      ...['--restart', service.restart],
      ...['--stop-timeout', (service.stop_grace_period ?? '10s').replace('s', '')],
    ];
    return [
      ...flags.flatMap(([flag, values]) =>
        values.flatMap((value) => (value === undefined ? [] : [flag, value])),
      ),
      // Docker has no other file system to write in; Podman would add some.
      ...(service.read_only === true ? ['--read-only', '--read-only-tmpfs=false'] : []),
      ...(service.init === true ? ['--init'] : []),
      ...(asService ? serviceFlags : []),
      this.#images[name] ?? service.image,
    ];
  }

  #volume(volume: string): string {
    const [source = '', ...rest] = volume.split(':');
    const isNamed = !/^[./]/.test(source);
    return [isNamed ? this.#named(source) : join(source.startsWith('/') ? '/' : ROOT, source), ...rest].join(
      ':',
    );
  }
}
