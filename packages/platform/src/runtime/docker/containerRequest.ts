import { randomUUID } from 'node:crypto';

/** The resources that apply to a container. Cores and megabytes, as in contract 000, "ResourceSpec". */
export interface ContainerResources {
  readonly cpu?: number | null;
  readonly cpu_limit?: number | null;
  readonly memory_mb?: number | null;
  readonly memory_limit_mb?: number | null;
  readonly labels?: Readonly<Record<string, string>> | null;
}

export interface ContainerRequest {
  readonly name: string;
  /** The engine's name of the image. */
  readonly image: string;
  readonly owner: ContainerOwner;
  /** The container's variables, which include secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly resources: ContainerResources;
  /** The cores of the engine's machine, which rejects more. Undefined: not known. */
  readonly cores: number | undefined;
  /** Isolates it from the machine and other containers (`--isolation container`). Default: the engine's settings. */
  readonly hardened?: boolean;
  /** The name of its network; `none` for no network; `container:NAME` for that of another one. Default: the engine's. */
  readonly network?: string;
  /** The program to run instead of the image's. */
  readonly program?: ContainerProgram;
  /** Whether the call lasts, and passes on the output, until the container ends. Default: until it is started. */
  readonly attached?: boolean;
}

/** A program from this machine's disk, run in a container. */
export interface ContainerProgram {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  /** Read-only files and folders of this machine, by their path in the container. */
  readonly readOnly: Readonly<Record<string, string>>;
  /** Writable folders of this machine, by their path in the container. */
  readonly writable: Readonly<Record<string, string>>;
  /** `UID:GID`. Default: {@link NOBODY}. */
  readonly user?: string;
}

/** Mounts under the same names as on this machine. */
export function inPlace(paths: readonly string[]): Record<string, string> {
  return Object.fromEntries(paths.map((path) => [path, path]));
}

/** The default port of an image, passed in `PORT` unless a secret sets it. */
const DEFAULT_PORT = '8000';
/** A line of a variables file is read up to 64 KiB. */
const LINE_MAX_BYTES = 60_000;
/** Variables that affect the docker command itself, so they cannot be passed through its environment. */
const READ_BY_DOCKER =
  /^(DOCKER_|XDG_|CONTAINER_HOST$|GO|LD_|SSL_CERT_|SSH_|OTEL_)|^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|LANG|LANGUAGE|LC_\w+|TZ|NODE_EXTRA_CA_CERTS)$|_proxy$/i;

/** Names that a shell passes on. */
const IDENTIFIER = /^[A-Za-z_]\w*$/;

/** The port of the Run API inside the container: `PORT` of the secrets, or 8000. */
export function portOf(env: Readonly<Record<string, string>>): string {
  const named = env['PORT'];
  return named !== undefined && /^[1-9]\d{0,4}$/.test(named) && Number(named) <= 65_535
    ? named
    : DEFAULT_PORT;
}

/**
 * The docker command line for a container. No variable's value is an argument: single-line values are passed in a
 * file, the others through the command's own environment.
 * @throws Error naming a variable that fits neither: a multi-line value whose name affects the docker command, or
 * which no shell passes on.
 */
export function runCall(request: ContainerRequest): {
  args: string[];
  env: Record<string, string>;
  input: string;
} {
  const { name, image, owner } = request;
  const port = portOf(request.env);
  const lines: string[] = [];
  const env: Record<string, string> = {};
  for (const [variable, value] of Object.entries({ ...request.env, PORT: port })) {
    if (fitsLine(variable, value)) lines.push(`${variable}=${value}\n`);
    else if (IDENTIFIER.test(variable) && !READ_BY_DOCKER.test(variable)) env[variable] = value;
    else
      throw new Error(
        `The secret ${variable} cannot be given to a container: under such a name only a value of one line, of less than 60,000 bytes, can be given, and none under a name that begins with #.`,
      );
  }
  const args = [
    'run',
    ...(request.attached === true ? [] : ['--detach']),
    ...['--name', name],
    ...labelArguments(owner),
    // Without a network of its own, the engine chooses a port on loopback.
    ...(request.network === undefined ? ['--publish', `127.0.0.1::${port}`] : ['--network', request.network]),
    ...(request.hardened === true ? HARDENED : []),
    ...programArguments(request.program),
    ...['--env-file', '/dev/stdin'],
    ...Object.keys(env).flatMap((variable) => ['--env', variable]),
    ...resourceArguments(request),
    // It is pulled already, or must not be pulled.
    ...['--pull', 'never'],
    image,
    ...(request.program?.command.slice(1) ?? []),
  ];
  return { args, env, input: lines.join('') };
}

/** A user without any files: runs programs from this machine's disk. */
export const NOBODY = { uid: 65_532, gid: 65_532 } as const;
const PIDS = '512';
/** A hardened container's memory limit if its `resource_spec` has none, in MB. */
const MEMORY_LIMIT_MB = 2_048;

/** Restrictions of a container: read-only root, no privileges and no new ones, limited processes and logs. */
const HARDENED: readonly string[] = [
  '--read-only',
  ...['--tmpfs', '/tmp:rw,nosuid,nodev,size=512m'],
  ...['--cap-drop', 'ALL'],
  ...['--security-opt', 'no-new-privileges'],
  ...['--pids-limit', PIDS],
  ...['--log-driver', 'json-file', '--log-opt', 'max-size=10m'],
];

function programArguments(program: ContainerProgram | undefined): string[] {
  if (program === undefined) return [];
  const mounts = [
    ...Object.entries(program.readOnly).map(([target, path]) => `${bound(path, target)},readonly`),
    ...Object.entries(program.writable).map(([target, path]) => bound(path, target)),
  ];
  return [
    ...['--user', program.user ?? `${NOBODY.uid}:${NOBODY.gid}`],
    ...['--workdir', program.cwd],
    ...mounts.flatMap((mount) => ['--mount', mount]),
    ...['--entrypoint', program.command[0]],
  ];
}

/** The engine reads a mount as a line of CSV: a path may have commas and quotation marks. */
function bound(path: string, target: string): string {
  return `type=bind,"source=${path.replaceAll('"', '""')}","target=${target.replaceAll('"', '""')}"`;
}

function fitsLine(name: string, value: string): boolean {
  return !name.startsWith('#') && !/[\r\n]/.test(value) && Buffer.byteLength(name + value) < LINE_MAX_BYTES;
}

/** Requests are shares under contention, limits maxima, zero is none. The engine rejects more cores than it has. */
function resourceArguments({ resources, cores = Infinity, hardened = false }: ContainerRequest): string[] {
  const { cpu, cpu_limit: cpuLimit, memory_mb: memory, labels } = resources;
  const memoryLimit = resources.memory_limit_mb || (hardened ? MEMORY_LIMIT_MB : 0);
  const args: string[] = [];
  if (cpu) args.push('--cpu-shares', String(Math.max(2, Math.round(cpu * 1024))));
  if (cpuLimit) args.push('--cpus', String(Math.min(cpuLimit, cores)));
  if (memory) args.push('--memory-reservation', `${Math.min(memory, memoryLimit || Infinity)}m`);
  if (memoryLimit) args.push('--memory', `${memoryLimit}m`);
  for (const [label, value] of Object.entries(labels ?? {})) {
    if (!label.startsWith(OWN_LABEL_PREFIX)) args.push('--label', `${label}=${value}`);
  }
  return args;
}

/** The owner of a container, in labels that identify it later. */
export interface ContainerOwner {
  /** The platform: the same after restarts, and unique on the engine. */
  readonly platform: string;
  /** The platform's process: differs if an earlier process left the container behind. */
  readonly process: string;
  readonly deploymentId: string;
  readonly revisionId: string;
}

/** A new name for a container of its owner. */
export function nameOf(owner: ContainerOwner): string {
  return `slipway-${owner.revisionId}-${randomUUID().slice(0, 8)}`;
}

const LABELS = {
  platform: 'slipway.platform',
  process: 'slipway.process',
  deploymentId: 'slipway.deployment',
  revisionId: 'slipway.revision',
} as const satisfies Record<keyof ContainerOwner, string>;

function labelArguments(owner: ContainerOwner): string[] {
  return (Object.keys(LABELS) as (keyof ContainerOwner)[]).flatMap((part) => [
    '--label',
    `${LABELS[part]}=${owner[part]}`,
  ]);
}

/** The arguments that list the ids and names of a platform's or process's containers, for Docker and Podman. */
export function listArguments(part: 'platform' | 'process', value: string): string[] {
  return ['ps', '--all', '--filter', `label=${LABELS[part]}=${value}`, '--format', '{{.ID}} {{.Names}}'];
}

/** Labels with this prefix are the platform's own. */
const OWN_LABEL_PREFIX = 'slipway.';
